// What ring_reduce_scatter must do: chunk r of the reduction on rank r, with half a ring's traffic.
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

#include <string>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds a reduce-scatter from messages: pass chunks with ring_shift."
);

const auto kOtherOps = {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

std::vector<float> cut(const std::vector<float>& all, const Chunk& chunk) {
    const auto part = std::span(all).subspan(chunk.begin, chunk.size());
    return {part.begin(), part.end()};
}

/// The same values, but chunk `mine` in the place of the whole: what Suspicion wants.
std::vector<Suspicion> cut(std::vector<Suspicion> all, const Chunk& chunk) {
    for (Suspicion& one : all) {
        one.values = cut(one.values, chunk);
    }
    return all;
}

/// What the likely mistakes leave in chunk r of rank r, most telling first.
std::vector<Suspicion> suspicions(
    std::size_t n, ReduceOp op, const Communicator& comm, std::uint64_t salt
) {
    const int p = comm.size();
    const int r = comm.rank();
    const std::string chunk = "chunk " + std::to_string(r);
    std::vector<Suspicion> known = mean_suspicions(n, r, p, op, salt);
    known.push_back(
        {input(n, r, salt), "that is this rank's own contribution: nothing was added to " + chunk +
                                ", which is to be the last that comes in"}
    );
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            known.push_back(
                {partial(n, ranks, op, salt),
                 "that is what " + alone(ranks) + " would give, " + std::to_string(k) + " of " +
                     std::to_string(p) + " contributions: " + chunk + " has not visited every rank"}
            );
        }
    }
    return known;
}

/// The number of a chunk that is finished on this rank, or -1. It should be r.
int finished_chunk(
    const std::vector<float>& data, const std::vector<float>& expected, const Communicator& comm
) {
    for (int i = 0; i < comm.size(); ++i) {
        const Chunk chunk = chunk_bounds(data.size(), comm.size(), i);
        if (chunk.size() > 0 && same(cut(data, chunk), cut(expected, chunk))) {
            return i;
        }
    }
    return -1;
}

/// Compares chunk r of `data`, that began as input(n, r, salt), with the reduction over all ranks.
Comparison my_chunk_is_reduced(
    const std::vector<float>& data, ReduceOp op, const Communicator& comm, std::uint64_t salt = 0
) {
    const std::size_t n = data.size();
    const Chunk mine = chunk_bounds(n, comm.size(), comm.rank());
    const auto expected = reduced_input(n, comm.size(), op, salt);
    const auto compare = [&](const std::vector<Suspicion>& known) {
        return same(cut(data, mine), cut(expected, mine), tolerance(op), known);
    };
    Comparison plain = compare({});
    if (plain || n > 1000) {
        return plain;
    }
    const std::string r = std::to_string(comm.rank());
    const int finished = finished_chunk(data, expected, comm);
    if (finished >= 0) {
        plain.text += ": chunk " + std::to_string(finished) + " is finished here, and rank " + r +
                      " is to finish chunk " + r + ": which chunk does it send first?";
    } else {
        plain = compare(cut(suspicions(n, op, comm, salt), mine));
    }
    plain.text = "chunk " + r + ", " + plain.text;
    return plain;
}

}  // namespace

TEST_CASE("ring_reduce_scatter leaves chunk r of the sum on rank r") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t elements_per_chunk : {4, 1}) {
            const std::size_t n = elements_per_chunk * static_cast<std::size_t>(comm.size());
            auto data = input(n, comm.rank());
            ring_reduce_scatter(data, ReduceOp::sum, comm);
            INFO("n = " << n << ": " << comm.size() << " chunks of " << elements_per_chunk);
            CHECK(my_chunk_is_reduced(data, ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("ring_reduce_scatter works for every length, also when p does not divide it") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t n : every_length(comm.size())) {
            auto data = input(n, comm.rank());
            ring_reduce_scatter(data, ReduceOp::sum, comm);
            INFO("n = " << n << ", p = " << comm.size());
            CHECK(my_chunk_is_reduced(data, ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("ring_reduce_scatter combines by mean, product, min and max as well") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const ReduceOp op : kOtherOps) {
            for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
                auto data = input(n, comm.rank());
                ring_reduce_scatter(data, op, comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                CHECK(my_chunk_is_reduced(data, op, comm));
            }
        }
    });
}

TEST_CASE("ring_reduce_scatter sends to the next rank and receives from the previous one") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        auto data = input(1000, r);
        const Traffic traffic =
            record(comm, [&] { ring_reduce_scatter(data, ReduceOp::sum, comm); });
        INFO(
            "rank " << r << " of " << p << " sent to " << list(traffic.sent_to)
                    << " and received from " << list(traffic.received_from)
        );
        CHECK(traffic.sent_to == (p == 1 ? std::set<int>{} : std::set{(r + 1) % p}));
        CHECK(traffic.received_from == (p == 1 ? std::set<int>{} : std::set{(r - 1 + p) % p}));
    });
}

TEST_CASE("ring_reduce_scatter sends at most p-1 messages, each of one chunk") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : every_length(p)) {
            auto data = input(n, comm.rank());
            const Traffic traffic =
                record(comm, [&] { ring_reduce_scatter(data, ReduceOp::sum, comm); });
            const long most_messages = p - 1;
            const long most_bytes = most_messages * ceil_div(n, p) * 4;
            INFO(
                "n = " << n << ", p = " << p << ": rank " << comm.rank() << " sent "
                       << traffic.messages_sent << " messages with " << traffic.bytes_sent
                       << " bytes in all."
            );
            INFO(
                "p - 1 steps need " << most_messages << " messages with " << most_bytes
                                    << " bytes: each carries one chunk, never the whole tensor."
            );
            CHECK(traffic.messages_sent <= most_messages);
            CHECK(traffic.bytes_sent <= most_bytes);
        }
    });
}

TEST_CASE("ring_reduce_scatter keeps all ranks busy at the same time") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        auto data = input(1000, comm.rank());
        const Traffic traffic =
            record(comm, [&] { ring_reduce_scatter(data, ReduceOp::sum, comm); });
        // twice the best: an order in which a rank first sends, then receives, is right as well
        const int most_rounds = 2 * (p - 1);
        INFO(
            "The longest chain of messages that wait for each other is "
            << traffic.rounds << " long; " << p - 1 << " is best, " << most_rounds << " is allowed."
        );
        INFO("Does one message go around while the other ranks wait for their turn?");
        CHECK(traffic.rounds <= most_rounds);
    });
}

TEST_CASE("ring_reduce_scatter can be called twice in a row") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        auto first = input(1000, comm.rank(), 1);
        auto second = input(1000, comm.rank(), 2);
        ring_reduce_scatter(first, ReduceOp::sum, comm);
        ring_reduce_scatter(second, ReduceOp::max, comm);
        CHECK(my_chunk_is_reduced(first, ReduceOp::sum, comm, 1));
        CHECK(my_chunk_is_reduced(second, ReduceOp::max, comm, 2));
    });
}

TEST_CASE("ring_reduce_scatter stays inside the communicator it is given") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = input(7, group->rank());
            ring_reduce_scatter(data, ReduceOp::sum, *group);
            CHECK(my_chunk_is_reduced(data, ReduceOp::sum, *group));
        }
    });
}
