#include "course/lab/bound.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include <mpi.h>

#include "course/runtime/buffer.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kInFirstCache = std::size_t{16} << 10U;  // bytes
constexpr std::size_t kTimedBytes = std::size_t{256} << 10U;   // a clock costs as much as 1 KiB
constexpr int kFewestRounds = 10;
constexpr int kRoundTrips = 1000;

/// Seconds to read and write n floats in place: the fastest of those in `budget_s`.
double pass_s(std::size_t n, double budget_s) {
    Buffer data(n);
    std::ranges::fill(data.span(), 1.0F);
    const std::size_t repetitions = kTimedBytes / (n * sizeof(float)) + 1;
    double fastest_s = std::numeric_limits<double>::infinity();
    const Stopwatch watch;
    for (int i = 0; i < kFewestRounds || watch.elapsed_s() < budget_s; ++i) {
        const double start_s = now_s();
        for (std::size_t k = 0; k < repetitions; ++k) {
            accumulate(data.span(), data.span(), ReduceOp::max);  // the widest vectors there are
        }
        fastest_s = std::min(fastest_s, (now_s() - start_s) / static_cast<double>(repetitions));
    }
    return fastest_s;
}

/// Half of the fastest round trip of one float between ranks 0 and 1. Means nothing elsewhere.
double hop_s(const Communicator& comm) {
    if (comm.rank() > 1) {
        return 0.0;
    }
    const int other = 1 - comm.rank();
    float one = 0.0F;
    const auto pass = [&](int src) {
        if (comm.rank() == src) {
            MPI_CHECK(MPI_Send(&one, 1, MPI_FLOAT, other, 0, comm.handle()));
        } else {
            MPI_CHECK(MPI_Recv(&one, 1, MPI_FLOAT, other, 0, comm.handle(), MPI_STATUS_IGNORE));
        }
    };
    double fastest_s = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRoundTrips; ++i) {
        const double start_s = now_s();
        pass(0);
        pass(1);
        fastest_s = std::min(fastest_s, (now_s() - start_s) / 2);
    }
    return fastest_s;
}

/// Messages that follow one another until an input has reached every rank.
double rounds(int p) {
    return std::bit_width(static_cast<unsigned>(p - 1));
}

}  // namespace

double LowerBound::seconds(std::size_t size_bytes, Means means) const {
    if (p == 1) {
        return 0.0;
    }
    double best_bytes_per_s = 0.0;
    for (const auto& [bytes, bytes_per_s] : pass_bytes_per_s) {
        if (bytes >= size_bytes / static_cast<std::size_t>(p)) {
            best_bytes_per_s = std::max(best_bytes_per_s, bytes_per_s);
        }
    }
    const double pass_s = static_cast<double>(size_bytes) / best_bytes_per_s;
    if (means != Means::messages) {
        return touched * pass_s;
    }
    return std::max(rounds(p) * hop_s, received * pass_s);
}

void LowerBound::learn(std::size_t size_bytes, Means means, double fastest_s) {
    if (p == 1) {
        return;
    }
    const double passes = means == Means::messages ? received : touched;
    double& rate = pass_bytes_per_s[size_bytes / static_cast<std::size_t>(p)];
    rate = std::max(rate, passes * static_cast<double>(size_bytes) / fastest_s);
    if (means == Means::messages) {
        hop_s = std::min(hop_s, fastest_s / rounds(p));
    }
}

LowerBound probe_lower_bound(
    const Collective& collective,
    const std::vector<std::size_t>& sizes_bytes,
    double budget_s,
    const Communicator& comm
) {
    const int p = comm.size();
    LowerBound bound{
        .p = p,
        .received = collective.received(p),
        .touched = collective.touched(p),
        .pass_bytes_per_s = {}};
    if (p == 1) {
        return bound;
    }
    bound.hop_s = hop_s(comm);
    std::set<std::size_t> lengths{kInFirstCache / sizeof(float)};
    for (const std::size_t size_bytes : sizes_bytes) {
        const std::size_t n = size_bytes / sizeof(float);
        lengths.insert((n + static_cast<std::size_t>(p) - 1) / static_cast<std::size_t>(p));
    }
    std::vector<double> found{bound.hop_s};
    for (const std::size_t n : lengths) {
        const auto bytes = static_cast<double>(n * sizeof(float));
        found.push_back(comm.rank() == 0 ? bytes / pass_s(n, budget_s) : 0.0);
    }
    MPI_CHECK(MPI_Bcast(found.data(), static_cast<int>(found.size()), MPI_DOUBLE, 0, comm.handle())
    );
    bound.hop_s = found.front();
    for (auto rate = found.begin() + 1; const std::size_t n : lengths) {
        bound.pass_bytes_per_s[n * sizeof(float)] = *rate++;
    }
    return bound;
}

}  // namespace dist::lab
