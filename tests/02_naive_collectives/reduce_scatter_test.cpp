// reduce_scatter: chunk r of the reduction on rank r, through rank 0.
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/reduction_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "reduce_scatter is to be built from reduce and scatter");

Chunk chunk_of(std::size_t n, const Communicator& comm) {
    return chunk_bounds(n, comm.size(), comm.rank());
}

std::vector<float> part(const std::vector<float>& whole, const Chunk& chunk) {
    const auto begin = whole.begin();
    return {
        begin + static_cast<std::ptrdiff_t>(chunk.begin),
        begin + static_cast<std::ptrdiff_t>(chunk.end)};
}

/// Whether `out` is this rank's chunk of the reduction of n elements.
Comparison is_own_chunk(
    const std::vector<float>& out,
    std::size_t n,
    ReduceOp op,
    const Communicator& comm,
    std::uint64_t salt = 0
) {
    const int p = comm.size();
    const Chunk chunk = chunk_of(n, comm);
    const auto whole = reduced_input(n, p, op, salt);
    const auto expected = part(whole, chunk);
    if (same(out, expected, tolerance(op))) {
        return {};
    }
    std::vector<Suspicion> suspicions;
    for (const Suspicion& suspicion : reduction_mistakes(n, op, p, salt)) {
        suspicions.push_back({part(suspicion.values, chunk), suspicion.sentence});
    }
    suspicions.push_back(
        {part(input(n, comm.rank(), salt), chunk), "that is this rank's own contribution"}
    );
    suspicions.push_back(
        {part(input(n, 0, salt), chunk), "that is rank 0's contribution: scatter the result"}
    );
    suspicions.push_back({whole, "that is the beginning of the result: this rank gets its chunk"});
    return same(out, expected, tolerance(op), suspicions);
}

}  // namespace

TEST_CASE("reduce_scatter gives rank r chunk r of the reduction, for every operation") {
    const auto op =
        GENERATE(ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max);
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (const std::size_t n : lengths(comm)) {
            INFO(
                name(op) << " of " << n << " floats over " << comm.size()
                         << " ranks; this rank gets elements " << chunk_of(n, comm).begin
                         << " up to, but not " << chunk_of(n, comm).end
            );
            const auto in = input(n, comm.rank());
            auto out = poison(chunk_of(n, comm).size());
            record(comm, [&] { reduce_scatter(in, out, op, comm); });
            CHECK(is_own_chunk(out, n, op, comm));
            const bool in_was_left_alone = in == input(n, comm.rank());
            INFO("reduce writes into its data on the root: give it a copy");
            CHECK(in_was_left_alone);
        }
    });
}

TEST_CASE("reduce_scatter sends every message from or to rank 0: n floats to it, a chunk back") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        const long others = comm.size() - 1;
        const long n_bytes = 4 * static_cast<long>(n);
        const auto in = input(n, comm.rank());
        auto out = poison(chunk_of(n, comm).size());
        const Traffic traffic =
            record(comm, [&] { reduce_scatter(in, out, ReduceOp::mean, comm); });
        const long out_bytes = 4 * static_cast<long>(out.size());
        INFO(
            comm.size()
            << " ranks: reduce to rank 0, n floats from each, then scatter from rank 0, "
            << "a chunk to each. Anything else is another algorithm"
        );
        if (comm.rank() == 0) {
            CHECK(traffic.messages_received == others);
            CHECK(traffic.bytes_received == others * n_bytes);
            CHECK(traffic.messages_sent == others);
            CHECK(traffic.bytes_sent == n_bytes - out_bytes);
        } else {
            CHECK(traffic.messages_sent == 1);
            CHECK(traffic.bytes_sent == n_bytes);
            CHECK(traffic.messages_received == 1);
            CHECK(traffic.bytes_received == out_bytes);
            CHECK(traffic.partners() == std::set{0});
        }
        CHECK(traffic.rounds <= 2 * others);
    });
}

TEST_CASE("reduce_scatter refuses an out that is not as long as this rank's chunk") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const std::size_t wrong : {6U, 8U}) {
            INFO("the only chunk has 7 floats, out has " << wrong);
            auto out = poison(wrong);
            const std::string what_it_did =
                answer([&] { reduce_scatter(input(7, 0), out, ReduceOp::sum, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two reduce_scatters in a row do not mix") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        auto first = poison(chunk_of(n, comm).size());
        auto second = first;
        reduce_scatter(input(n, comm.rank(), 0), first, ReduceOp::sum, comm);
        reduce_scatter(input(n, comm.rank(), 1), second, ReduceOp::max, comm);
        CHECK(is_own_chunk(first, n, ReduceOp::sum, comm, 0));
        CHECK(is_own_chunk(second, n, ReduceOp::max, comm, 1));
    });
}

TEST_CASE("reduce_scatter reduces over the ranks of the communicator that was given") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            auto out = poison(chunk_of(7, group).size());
            reduce_scatter(input(7, group.rank()), out, ReduceOp::mean, group);
            CHECK(is_own_chunk(out, 7, ReduceOp::mean, group));
        });
    });
}

TEST_CASE("reduce_scatter is right for a large message") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        const std::size_t n = 300'001;
        auto out = poison(chunk_of(n, comm).size());
        reduce_scatter(input(n, comm.rank()), out, ReduceOp::sum, comm);
        CHECK(is_own_chunk(out, n, ReduceOp::sum, comm));
    });
}
