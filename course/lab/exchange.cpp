#include "course/lab/exchange.hpp"

#include <algorithm>
#include <set>

#include <mpi.h>

#include "course/lab/measure.hpp"
#include "course/lab/statistics.hpp"
#include "course/runtime/buffer.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kFewestCalls = 10;  // calls of each size

/// Seconds of exchanges of n floats, the slowest rank's counting; with `add` what came is added to
/// what was sent. The same on every rank.
std::vector<double> exchanges_s(
    std::size_t n, bool add, double budget_s, const Communicator& comm
) {
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    const int count = static_cast<int>(n);
    Buffer data(n);
    Buffer incoming(n);
    const auto exchange = [&] {
        MPI_CHECK(MPI_Sendrecv(
            data.data(), count, MPI_FLOAT, next, 0,      //
            incoming.data(), count, MPI_FLOAT, prev, 0,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        if (add) {
            accumulate(incoming.span(), data.span(), ReduceOp::sum);
        }
    };
    std::vector<double> seconds;
    const Stopwatch watch;
    double elapsed_s = 0.0;
    while (seconds.size() < kFewestCalls || elapsed_s < budget_s) {
        std::fill(data.span().begin(), data.span().end(), static_cast<float>(seconds.size()));
        seconds.push_back(slowest(time_call(comm, exchange).seconds, comm));
        elapsed_s = slowest(watch.elapsed_s(), comm);
    }
    return seconds;
}

}  // namespace

LinkCost probe_link(std::size_t size_bytes, double budget_s, const Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    if (p == 1) {
        return {};
    }
    const std::size_t n = std::max<std::size_t>(1, size_bytes / sizeof(float));
    const std::size_t shortest = (n + p - 1) / p;
    std::set<std::size_t> lengths{shortest};
    for (std::size_t length = n; length > shortest; length = (length + 1) / 2) {
        lengths.insert(length);
    }
    std::vector<Measurement> exchanges;
    for (const std::size_t length : lengths) {
        const double seconds = median(exchanges_s(length, false, budget_s, comm));
        exchanges.push_back({length * sizeof(float), seconds});
    }
    LinkCost link =
        exchanges.size() == 1 ? LinkCost{.alpha_s = exchanges[0].seconds} : fit(exchanges);
    const double with_addition_s = median(exchanges_s(n, true, budget_s, comm));
    const auto& [bytes, seconds] = exchanges.back();
    link.gamma_s_per_byte = std::max(0.0, with_addition_s - seconds) / static_cast<double>(bytes);
    return link;
}

}  // namespace dist::lab
