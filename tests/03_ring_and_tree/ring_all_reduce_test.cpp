// What ring_all_reduce must do: the right result, with a ring's traffic, and the same bits on every
// rank.
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

#include <string>

#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from messages: the two halves of the ring are yours."
);

const auto kOtherOps = {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

/// What the likely mistakes leave behind, most telling first.
std::vector<Suspicion> suspicions(
    std::size_t n, ReduceOp op, const Communicator& comm, std::uint64_t salt
) {
    const int p = comm.size();
    std::vector<Suspicion> known = mean_suspicions(n, comm.rank(), p, op, salt);
    const auto all = partial(n, arc(p, 0, p), op, salt);
    known.push_back(
        {input(n, comm.rank(), salt),
         "that is this rank's own contribution: nothing was added, and no finished chunk came"}
    );
    auto own_again = input(n, comm.rank(), salt);
    for (int i = 1; i < p; ++i) {
        dist::accumulate(input(n, comm.rank(), salt), own_again, op);
    }
    known.push_back(
        {own_again, "that is this rank's own contribution, " + std::to_string(p) +
                        " times: chunks were gathered before they were reduced"}
    );
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            const auto some = partial(n, ranks, op, salt);
            known.push_back(
                {some, "that is what " + alone(ranks) + " would give, " + std::to_string(k) +
                           " of " + std::to_string(p) +
                           " contributions: a chunk of an earlier step that the finished one has "
                           "not replaced"}
            );
            auto added = all;
            dist::accumulate(some, added, ReduceOp::sum);
            known.push_back(
                {added,
                 "that is more than the reduction: in the all-gather a finished chunk takes the "
                 "place of what was there, it is not added"}
            );
        }
    }
    return known;
}

/// Compares `data`, that began as input(n, r, salt), with the reduction over all ranks.
Comparison reduced(
    const std::vector<float>& data, ReduceOp op, const Communicator& comm, std::uint64_t salt = 0
) {
    const auto expected = reduced_input(data.size(), comm.size(), op, salt);
    Comparison plain = same(data, expected, tolerance(op));
    if (plain || data.size() > 1000) {
        return plain;
    }
    return same(data, expected, tolerance(op), suspicions(data.size(), op, comm, salt));
}

/// Numbers for which the order of addition shows: 2^24 + 1 is 2^24 in float, 2^24 + (1 + 1) is not.
std::vector<float> order_matters(std::size_t n, int rank) {
    return std::vector<float>(n, rank == 0 ? 0x1p24F : 1.0F);
}

}  // namespace

TEST_CASE("ring_all_reduce sums every element over all ranks") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t elements_per_chunk : {1, 10}) {
            const std::size_t n = elements_per_chunk * static_cast<std::size_t>(comm.size());
            auto data = input(n, comm.rank());
            ring_all_reduce(data, ReduceOp::sum, comm);
            INFO("n = " << n << ": " << comm.size() << " chunks of " << elements_per_chunk);
            CHECK(reduced(data, ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("ring_all_reduce works for every length, also when p does not divide it") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t n : every_length(comm.size())) {
            auto data = input(n, comm.rank());
            ring_all_reduce(data, ReduceOp::sum, comm);
            INFO("n = " << n << ", p = " << comm.size());
            CHECK(reduced(data, ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("ring_all_reduce combines by mean, product, min and max as well") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        for (const ReduceOp op : kOtherOps) {
            for (const std::size_t n : every_length(comm.size())) {
                auto data = input(n, comm.rank());
                ring_all_reduce(data, op, comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                CHECK(reduced(data, op, comm));
            }
        }
    });
}

TEST_CASE("ring_all_reduce talks to its two neighbours, and to nobody else") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        auto data = input(1000, comm.rank());
        const Traffic traffic = record(comm, [&] { ring_all_reduce(data, ReduceOp::sum, comm); });
        INFO(
            "rank " << comm.rank() << " exchanged messages with " << list(traffic.partners())
                    << "; its neighbours on the ring: " << list(neighbours(comm))
        );
        CHECK(traffic.partners() == neighbours(comm));
    });
}

TEST_CASE("ring_all_reduce sends at most 2(p-1) messages, and 2(p-1) chunks of ceil(n/p) floats") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : every_length(p)) {
            auto data = input(n, comm.rank());
            const Traffic traffic =
                record(comm, [&] { ring_all_reduce(data, ReduceOp::sum, comm); });
            const long most_messages = 2L * (p - 1);
            const long most_bytes = most_messages * ceil_div(n, p) * 4;
            INFO(
                "n = " << n << ", p = " << p << ": rank " << comm.rank() << " sent "
                       << traffic.messages_sent << " messages with " << traffic.bytes_sent
                       << " bytes in all."
            );
            INFO(
                "A ring needs " << most_messages << " messages with " << most_bytes
                                << " bytes: each carries one chunk, never the whole tensor."
            );
            CHECK(traffic.messages_sent <= most_messages);
            CHECK(traffic.bytes_sent <= most_bytes);
        }
    });
}

TEST_CASE("ring_all_reduce keeps all ranks busy at the same time") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        auto data = input(1000, comm.rank());
        const Traffic traffic = record(comm, [&] { ring_all_reduce(data, ReduceOp::sum, comm); });
        // twice the best: an order in which a rank first sends, then receives, is right as well
        const int most_rounds = 4 * (p - 1);
        INFO(
            "The longest chain of messages that wait for each other is "
            << traffic.rounds << " long; " << 2 * (p - 1) << " is best, " << most_rounds
            << " is allowed."
        );
        INFO("Does one message go around while the other ranks wait for their turn?");
        CHECK(traffic.rounds <= most_rounds);
    });
}

TEST_CASE("ring_all_reduce leaves the same bits on every rank") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
            for (const std::size_t n : every_length(comm.size())) {
                auto data = order_matters(n, comm.rank());
                ring_all_reduce(data, op, comm);
                const Comparison bits = same_on_all_ranks(data, comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                INFO(
                    "Ranks that add in different orders round differently, and replicas of a model "
                    "drift apart."
                );
                INFO("On a ring one rank finishes a chunk, and all others copy its bits.");
                CHECK(bits);
            }
        }
    });
}

TEST_CASE("ring_all_reduce can be called twice in a row") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        auto first = input(1000, comm.rank(), 1);
        auto second = input(1000, comm.rank(), 2);
        ring_all_reduce(first, ReduceOp::sum, comm);
        ring_all_reduce(second, ReduceOp::max, comm);
        CHECK(reduced(first, ReduceOp::sum, comm, 1));
        CHECK(reduced(second, ReduceOp::max, comm, 2));
    });
}

TEST_CASE("ring_all_reduce stays inside the communicator it is given") {
    on_ranks({4, 5}, [](const Communicator& comm) {
        // two groups at work at the same time, numbered from behind
        const int color = comm.rank() % 2;
        const Communicator group = comm.split(color, -comm.rank());
        const auto salt = static_cast<std::uint64_t>(color);
        auto data = input(1000, group.rank(), salt);
        ring_all_reduce(data, ReduceOp::sum, group);
        INFO(
            "rank " << comm.rank() << " of " << comm.size() << " is rank " << group.rank() << " of "
                    << group.size() << " in its group"
        );
        CHECK(reduced(data, ReduceOp::sum, group, salt));
    });
}
