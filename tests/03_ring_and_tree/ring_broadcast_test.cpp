// ring_broadcast: the root's data on every rank, passed on in segments that follow each other.
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

#include <string>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a broadcast from messages between neighbours."
);

/// 0, 1, 2, ...: a wrong value says where in the root's data it stands. The second call counts on.
std::vector<float> roots_data(std::size_t n, int call) {
    std::vector<float> data(n);
    for (std::size_t k = 0; k < n; ++k) {
        data[k] = static_cast<float>(k + static_cast<std::size_t>(call) * 1'000'000);
    }
    return data;
}

/// What rank r holds before the call, if it is not the root: nothing that anyone wants.
std::vector<float> leftover(std::size_t n, int r) {
    return std::vector<float>(n, static_cast<float>(-1 - r));
}

std::vector<float> before(std::size_t n, int root, const Communicator& comm, int call = 0) {
    return comm.rank() == root ? roots_data(n, call) : leftover(n, comm.rank());
}

Comparison is_roots_data(
    const std::vector<float>& data, int segments, const Communicator& comm, int call = 0
) {
    const std::size_t n = data.size();
    const auto expected = roots_data(n, call);
    std::vector<Suspicion> known;
    known.reserve(static_cast<std::size_t>(comm.size()));
    for (int r = 0; r < comm.size(); ++r) {
        known.push_back(
            {leftover(n, r),
             r == comm.rank()
                 ? "that was here before the call: nothing came to this place"
                 : "that was in this place on rank " + std::to_string(r) +
                       " before the call: it passed on a segment that had not come yet"}
        );
    }
    for (int other = 0; n <= 1000 && other < segments; ++other) {
        const Chunk from = chunk_bounds(n, segments, other);
        std::vector<float> values;  // segment `other` in the place of every segment
        for (int i = 0; i < segments; ++i) {
            const std::size_t length = chunk_bounds(n, segments, i).size();
            for (std::size_t k = 0; k < length; ++k) {
                values.push_back(expected[std::min(from.begin + k, n - 1)]);
            }
        }
        known.push_back(
            {values, "that belongs to segment " + std::to_string(other) + ": it came in late, or " +
                         "was put into the wrong place"}
        );
    }
    return same(data, expected, 0.0, known);
}

/// How ring_broadcast answers: "std::invalid_argument", or what it did in its place.
std::string answer(int root, int segments, const Communicator& comm) {
    auto data = poison(7);
    try {
        ring_broadcast(data, root, segments, comm);
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error& error) {
        return std::string("dist::Error: ") + error.what();
    }
    return "it returned as if all were well";
}

}  // namespace

TEST_CASE("ring_broadcast gives every rank the root's data, from every root") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            for (const int segments : {3, 1, 2, 7}) {
                INFO("7 floats, segments = " << segments << ", root = " << root);
                auto data = before(7, root, comm);
                // record, for its end: nobody goes on before all have returned
                record(comm, [&] { ring_broadcast(data, root, segments, comm); });
                CHECK(is_roots_data(data, segments, comm));
            }
        }
    });
}

TEST_CASE("ring_broadcast works for every length and any number of segments") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int root = comm.size() / 2;
        for (const std::size_t n : every_length(comm.size())) {
            for (const int segments : {1, 2, 3, 5, 16}) {
                INFO(n << " floats, segments = " << segments << ", root = " << root);
                auto data = before(n, root, comm);
                ring_broadcast(data, root, segments, comm);
                CHECK(is_roots_data(data, segments, comm));
            }
        }
    });
}

TEST_CASE("ring_broadcast sends each segment once over each link, and none back to the root") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        const int root = p - 1;
        for (const int segments : {4, 1, 16}) {
            auto data = before(1000, root, comm);
            const Traffic traffic =
                record(comm, [&] { ring_broadcast(data, root, segments, comm); });
            const bool sends = p > 1 && (r + 1) % p != root;
            const bool receives = p > 1 && r != root;
            INFO(
                "1000 floats in " << segments << " segments, root " << root << " of " << p
                                  << " ranks: rank " << r << (sends ? " sends" : " does not send")
                                  << " to the next rank, one message for each segment"
            );
            CHECK(traffic.sent_to == (sends ? std::set{(r + 1) % p} : std::set<int>{}));
            CHECK(
                traffic.received_from == (receives ? std::set{(r - 1 + p) % p} : std::set<int>{})
            );
            CHECK(traffic.messages_sent == (sends ? segments : 0));
            CHECK(traffic.bytes_sent == (sends ? 4000 : 0));
        }
    });
}

TEST_CASE("ring_broadcast passes a segment on while the next one comes in") {
    on_ranks({5, 2, 3, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const int segments = 16;
        auto data = before(1000, 0, comm);
        const Traffic traffic = record(comm, [&] { ring_broadcast(data, 0, segments, comm); });
        // twice the best: a rank that receives, then sends, then receives, is right as well
        const int best = p - 2 + segments;
        INFO(
            "The longest chain of messages that wait for each other is "
            << traffic.rounds << " long; " << best << " is best, " << 2 * best << " is allowed."
        );
        INFO("Does a rank wait for all the data before it passes on the first segment?");
        CHECK(traffic.rounds <= 2 * best);
    });
}

TEST_CASE("ring_broadcast refuses a root that is not a rank, and segments below 1") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const std::string what_it_did = answer(root, 2, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
        for (const int segments : {0, -1}) {
            INFO(segments << " segments: every rank must refuse that");
            const std::string what_it_did = answer(0, segments, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two ring_broadcasts in a row do not mix") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = before(1000, first_root, comm, 1);
            auto second = before(1000, second_root, comm, 2);
            INFO("from root " << first_root << ", and at once from root " << second_root);
            ring_broadcast(first, first_root, 4, comm);
            ring_broadcast(second, second_root, 3, comm);
            CHECK(is_roots_data(first, 4, comm, 1));
            CHECK(is_roots_data(second, 3, comm, 2));
        }
    });
}

TEST_CASE("ring_broadcast stays inside the communicator it is given") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = before(7, 0, *group);
            ring_broadcast(data, 0, 3, *group);
            CHECK(is_roots_data(data, 3, *group));
        }
    });
}
