#include "course/lab/bound.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include <mpi.h>

#include "course/lab/measure.hpp"
#include "course/runtime/buffer.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr int kFewest = 10;  // exchanges of each size

/// Seconds of the fastest exchange of n floats, the slowest rank's time counting.
double fastest_exchange_s(
    std::span<float> out, std::span<float> in, double budget_s, const Communicator& comm
) {
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    const int n = static_cast<int>(out.size());
    double fastest_s = std::numeric_limits<double>::infinity();
    const Stopwatch watch;
    double elapsed_s = 0.0;
    for (int i = 0; i < kFewest || elapsed_s < budget_s; ++i) {
        std::fill(out.begin(), out.end(), static_cast<float>(i));
        const Sample sample = time_call(comm, [&] {
            MPI_CHECK(MPI_Sendrecv(
                out.data(), n, MPI_FLOAT, next, 0,  //
                in.data(), n, MPI_FLOAT, prev, 0,   //
                comm.handle(), MPI_STATUS_IGNORE
            ));
        });
        fastest_s = std::min(fastest_s, slowest(sample.seconds, comm));
        elapsed_s = slowest(watch.elapsed_s(), comm);
    }
    return fastest_s;
}

}  // namespace

LinkCost LowerBound::link() const {
    if (p == 1 || bytes_per_s_of_message.empty()) {
        return {};
    }
    std::vector<Measurement> exchanges = {{sizeof(float), alpha_s}};
    for (const auto& [bytes, bytes_per_s] : bytes_per_s_of_message) {
        if (bytes > sizeof(float)) {
            exchanges.push_back({bytes, static_cast<double>(bytes) / bytes_per_s});
        }
    }
    return exchanges.size() < 2 ? LinkCost{} : fit(exchanges);
}

double LowerBound::seconds(std::size_t size_bytes) const {
    if (p == 1) {
        return 0.0;
    }
    double best_bytes_per_s = 0.0;
    const std::size_t message_bytes = size_bytes / static_cast<std::size_t>(p);
    for (const auto& [bytes, bytes_per_s] : bytes_per_s_of_message) {
        if (bytes >= message_bytes) {
            best_bytes_per_s = std::max(best_bytes_per_s, bytes_per_s);
        }
    }
    const auto rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(p - 1)));
    return std::max(
        rounds * alpha_s, bus_factor * static_cast<double>(size_bytes) / best_bytes_per_s
    );
}

LowerBound probe_lower_bound(
    const Collective& collective,
    const std::vector<std::size_t>& sizes_bytes,
    double budget_s,
    const Communicator& comm
) {
    const int p = comm.size();
    LowerBound bound{.p = p, .bus_factor = collective.bus_factor(p), .bytes_per_s_of_message = {}};
    if (p == 1) {
        return bound;
    }
    std::set<std::size_t> messages_n{1, (std::size_t{1} << 20U) / sizeof(float)};
    for (const std::size_t size_bytes : sizes_bytes) {
        const std::size_t n = size_bytes / sizeof(float);
        messages_n.insert((n + static_cast<std::size_t>(p) - 1) / static_cast<std::size_t>(p));
    }
    Buffer out(*messages_n.rbegin());
    Buffer in(*messages_n.rbegin());
    for (const std::size_t n : messages_n) {
        const double seconds =
            fastest_exchange_s(out.span().first(n), in.span().first(n), budget_s, comm);
        bound.bytes_per_s_of_message[n * sizeof(float)] =
            static_cast<double>(n * sizeof(float)) / seconds;
        if (n == 1) {
            bound.alpha_s = seconds;
        }
    }
    return bound;
}

}  // namespace dist::lab
