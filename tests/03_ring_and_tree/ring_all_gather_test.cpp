// What ring_all_gather must do: every rank's chunk on every rank, with half a ring's traffic.
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

#include <string>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-gather from messages: pass chunks with ring_shift."
);

/// Element k of rank i's part: 1000, 1001, ... on rank 0, 2000, 2001, ... on rank 1.
float element(int i, std::size_t k, int call) {
    return static_cast<float>(10'000 * call + 1000 * (i + 1) + static_cast<int>(k % 1000));
}

/// What rank r has in the places of the other ranks before the call: nothing that anyone wants.
float leftover(int r) {
    return static_cast<float>(-1 - r);
}

/// `n` floats in p chunks; `value(i, k)` is element k of chunk i.
template <class Value>
std::vector<float> chunks(std::size_t n, int p, Value value) {
    std::vector<float> all(n);
    for (int i = 0; i < p; ++i) {
        const Chunk chunk = chunk_bounds(n, p, i);
        for (std::size_t k = 0; k < chunk.size(); ++k) {
            all[chunk.begin + k] = value(i, k);
        }
    }
    return all;
}

std::vector<float> before(std::size_t n, const Communicator& comm, int call = 0) {
    const int r = comm.rank();
    return chunks(n, comm.size(), [&](int i, std::size_t k) {
        return i == r ? element(r, k, call) : leftover(r);
    });
}

/// What the likely mistakes leave behind.
std::vector<Suspicion> suspicions(std::size_t n, const Communicator& comm, int call) {
    const int p = comm.size();
    const auto added = [&](int i, std::size_t k) {  // at each rank on the way from i to here
        float value = element(i, k, call);
        for (int rank = i; rank != comm.rank();) {
            rank = (rank + 1) % p;
            value += leftover(rank);
        }
        return value;
    };
    std::vector<Suspicion> known = {
        {chunks(n, p, added),
         "that is the right chunk added to what was here: it is to take its place"}};
    for (int j = 0; j < p; ++j) {
        const std::string rank = "rank " + std::to_string(j);
        known.push_back(
            {std::vector<float>(n, leftover(j)),
             j == comm.rank() ? "that was here before the call: no chunk came to this place"
                              : "that was in this place on " + rank +
                                    " before the call: it passed on a chunk that had not come yet"}
        );
        known.push_back(
            {chunks(n, p, [&](int, std::size_t k) { return element(j, k, call); }),
             "that is the part of " + rank + ", in the wrong place"}
        );
    }
    return known;
}

Comparison has_every_chunk(const std::vector<float>& data, const Communicator& comm, int call = 0) {
    const std::size_t n = data.size();
    const auto expected =
        chunks(n, comm.size(), [&](int i, std::size_t k) { return element(i, k, call); });
    return same(data, expected, 0.0, suspicions(n, comm, call));
}

}  // namespace

TEST_CASE("ring_all_gather gives every rank the chunk of every rank") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t elements_per_chunk : {1, 10}) {
            const std::size_t n = elements_per_chunk * static_cast<std::size_t>(comm.size());
            auto data = before(n, comm);
            ring_all_gather(data, comm);
            INFO("n = " << n << ": " << comm.size() << " chunks of " << elements_per_chunk);
            INFO("rank 0 brought 1000, 1001, ...; rank 1 brought 2000, 2001, ...; and so on");
            CHECK(has_every_chunk(data, comm));
        }
    });
}

TEST_CASE("ring_all_gather works for every length, also when p does not divide it") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t n : every_length(comm.size())) {
            auto data = before(n, comm);
            ring_all_gather(data, comm);
            INFO("n = " << n << ", p = " << comm.size());
            INFO("rank 0 brought 1000, 1001, ...; rank 1 brought 2000, 2001, ...; and so on");
            CHECK(has_every_chunk(data, comm));
        }
    });
}

TEST_CASE("ring_all_gather sends to the next rank and receives from the previous one") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        auto data = before(1000, comm);
        const Traffic traffic = record(comm, [&] { ring_all_gather(data, comm); });
        INFO(
            "rank " << r << " of " << p << " sent to " << list(traffic.sent_to)
                    << " and received from " << list(traffic.received_from)
        );
        CHECK(traffic.sent_to == (p == 1 ? std::set<int>{} : std::set{(r + 1) % p}));
        CHECK(traffic.received_from == (p == 1 ? std::set<int>{} : std::set{(r - 1 + p) % p}));
    });
}

TEST_CASE("ring_all_gather sends at most p-1 messages, each of one chunk") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : every_length(p)) {
            auto data = before(n, comm);
            const Traffic traffic = record(comm, [&] { ring_all_gather(data, comm); });
            const long most_messages = p - 1;
            const long most_bytes = most_messages * ceil_div(n, p) * 4;
            INFO(
                "n = " << n << ", p = " << p << ": rank " << comm.rank() << " sent "
                       << traffic.messages_sent << " messages with " << traffic.bytes_sent
                       << " bytes in all."
            );
            INFO(
                "p - 1 steps need " << most_messages << " messages with " << most_bytes
                                    << " bytes: each carries one chunk, never all that is there."
            );
            CHECK(traffic.messages_sent <= most_messages);
            CHECK(traffic.bytes_sent <= most_bytes);
        }
    });
}

TEST_CASE("ring_all_gather keeps all ranks busy at the same time") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        auto data = before(1000, comm);
        const Traffic traffic = record(comm, [&] { ring_all_gather(data, comm); });
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

TEST_CASE("ring_all_gather can be called twice in a row") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        auto first = before(1000, comm, 1);
        auto second = before(1000, comm, 2);
        ring_all_gather(first, comm);
        ring_all_gather(second, comm);
        CHECK(has_every_chunk(first, comm, 1));
        CHECK(has_every_chunk(second, comm, 2));
    });
}

TEST_CASE("ring_all_gather stays inside the communicator it is given") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = before(7, *group);
            ring_all_gather(data, *group);
            CHECK(has_every_chunk(data, *group));
        }
    });
}
