// all_reduce: everyone's data combined, the same result for all, every message from or to rank 0.
#include "exercises/02_naive_collectives/all_reduce.hpp"

#include <string>

#include "tests/02_naive_collectives/reduction_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_reduce is to be built from send, recv and broadcast");

/// What likely mistakes leave on rank r, and the sentence for each.
std::vector<Suspicion> suspicions(std::size_t n, ReduceOp op, int r, int p, std::uint64_t salt) {
    std::vector<Suspicion> all = {
        {input(n, r, salt), "that is this rank's own contribution: nothing came in"},
        {input(n, 0, salt), "that is rank 0's contribution alone"},
    };
    const auto of_any_reduction = reduction_mistakes(n, op, p, salt);
    all.insert(all.end(), of_any_reduction.begin(), of_any_reduction.end());
    if (r > 0 && r < p - 1) {
        all.push_back(
            {reduced_input(n, r + 1, op, salt),
             "that is the reduction of ranks 0 to " + std::to_string(r) +
                 ": the result was sent before everybody had contributed"}
        );
    }
    return all;
}

Comparison is_reduction(
    const std::vector<float>& data, ReduceOp op, const Communicator& comm, std::uint64_t salt = 0
) {
    const std::size_t n = data.size();
    const auto expected = reduced_input(n, comm.size(), op, salt);
    if (same(data, expected, tolerance(op))) {
        return {};
    }
    return same(data, expected, tolerance(op), suspicions(n, op, comm.rank(), comm.size(), salt));
}

}  // namespace

TEST_CASE("all_reduce gives every rank the reduction over all ranks, for every operation") {
    const auto op =
        GENERATE(ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max);
    on_ranks({1, 2, 3, 4, 5}, [&](const Communicator& comm) {
        for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 1000U}) {
            INFO(name(op) << " of " << n << " floats over " << comm.size() << " ranks");
            auto data = input(n, comm.rank());
            all_reduce(data, op, comm);
            CHECK(is_reduction(data, op, comm));
        }
    });
}

TEST_CASE("two all_reduces in a row do not mix") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        auto first = input(n, comm.rank(), 0);
        auto second = input(n, comm.rank(), 1);
        INFO("nothing may be left of an earlier call");
        all_reduce(first, ReduceOp::sum, comm);
        all_reduce(second, ReduceOp::max, comm);
        CHECK(is_reduction(first, ReduceOp::sum, comm, 0));
        CHECK(is_reduction(second, ReduceOp::max, comm, 1));
    });
}

TEST_CASE("all_reduce leaves the same bits on every rank") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        auto data = input(1000, comm.rank());
        all_reduce(data, ReduceOp::mean, comm);
        CHECK(same_on_all_ranks(data, comm));
    });
}

TEST_CASE("all_reduce sends every message from or to rank 0: p - 1 to it, p - 1 back") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        const long others = comm.size() - 1;
        const long n_bytes = static_cast<long>(n * sizeof(float));
        auto data = input(n, comm.rank());
        const Traffic traffic = record(comm, [&] { all_reduce(data, ReduceOp::mean, comm); });
        if (comm.rank() == 0) {
            INFO("rank 0 gets one message from each of the others and sends one to each");
            CHECK(traffic.messages_received == others);
            CHECK(traffic.messages_sent == others);
            CHECK(traffic.bytes_sent == others * n_bytes);
        } else {
            INFO("this rank sends its data to rank 0 and gets the result from there");
            CHECK(traffic.messages_sent == 1);
            CHECK(traffic.bytes_sent == n_bytes);
            CHECK(traffic.messages_received == 1);
            CHECK(traffic.partners() == std::set{0});
        }
    });
}

TEST_CASE("all_reduce reduces over the ranks of the communicator that was given, and no others") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = input(7, group->rank());
            all_reduce(data, ReduceOp::mean, *group);
            CHECK(is_reduction(data, ReduceOp::mean, *group));
        }
    });
}

TEST_CASE("all_reduce is right for a large message") {
    on_ranks({2, 5}, [](const Communicator& comm) {
        auto data = input(300'000, comm.rank());
        all_reduce(data, ReduceOp::sum, comm);
        CHECK(is_reduction(data, ReduceOp::sum, comm));
    });
}
