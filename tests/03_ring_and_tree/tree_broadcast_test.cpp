// tree_broadcast: the root's data on every rank, one message to each, in log2 p rounds.
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

#include <string>

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a broadcast from messages along a tree."
);

/// What the ranks hold before the call: the root its data, the others nothing of use.
std::vector<float> before(
    std::size_t n, int root, const Communicator& comm, std::uint64_t salt = 0
) {
    return comm.rank() == root ? input(n, root, salt) : poison(n);
}

Comparison is_roots_data(
    const std::vector<float>& data, int root, const Communicator& comm, std::uint64_t salt = 0
) {
    Comparison comparison = same(data, input(data.size(), root, salt));
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    if (!comparison && place > 0) {
        const int d = floor_power(place);
        comparison.text += "; this is place " + std::to_string(place) + ", and place " +
                           std::to_string(place - d) + " sends to it in the round of distance " +
                           std::to_string(d);
    }
    return comparison;
}

/// How tree_broadcast answers to `root`: "std::invalid_argument", or what it did in its place.
std::string answer(int root, const Communicator& comm) {
    auto data = poison(7);
    try {
        tree_broadcast(data, root, comm);
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error& error) {
        return std::string("dist::Error: ") + error.what();
    }
    return "it returned as if all were well";
}

}  // namespace

TEST_CASE("tree_broadcast gives every rank the data of rank 0") {
    on_ranks({4, 1, 2, 8, 3, 5, 6, 7}, [](const Communicator& comm) {
        auto data = before(7, 0, comm);
        INFO("7 floats from root 0 to " << comm.size() << " ranks");
        // record, for its end: nobody goes on before all have returned
        record(comm, [&] { tree_broadcast(data, 0, comm); });
        CHECK(is_roots_data(data, 0, comm));
    });
}

TEST_CASE("tree_broadcast gives every rank the root's data, from every root, of every length") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            INFO("7 floats from root " << root << " to " << comm.size() << " ranks");
            auto data = before(7, root, comm);
            record(comm, [&] { tree_broadcast(data, root, comm); });
            CHECK(is_roots_data(data, root, comm));
        }
        for (const std::size_t n : most_lengths(comm.size())) {
            const int root = comm.size() - 1;
            INFO(n << " floats from root " << root << " to " << comm.size() << " ranks");
            auto data = before(n, root, comm);
            record(comm, [&] { tree_broadcast(data, root, comm); });
            CHECK(is_roots_data(data, root, comm));
        }
    });
}

TEST_CASE("tree_broadcast sends one message to each rank but the root") {
    on_ranks({4, 1, 2, 8, 3, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const int root : {0, p / 2}) {
            auto data = before(1000, root, comm);
            const Traffic traffic = record(comm, [&] { tree_broadcast(data, root, comm); });
            const bool is_root = comm.rank() == root;
            INFO("root " << root << " of " << p << " ranks; this is rank " << comm.rank());
            CHECK(traffic.messages_received == (is_root ? 0 : 1));
            CHECK(traffic.bytes_received == (is_root ? 0 : 4000));
            INFO(
                "with " << p << " ranks there are " << ceil_log(p) << " rounds, and a rank sends "
                        << "at most one message in each"
            );
            CHECK(traffic.messages_sent <= ceil_log(p));
        }
    });
}

TEST_CASE("tree_broadcast is through after log2 p rounds, rounded up") {
    on_ranks({8, 1, 2, 4, 3, 5, 6, 7}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const int root : {0, p - 1}) {
            auto data = before(1000, root, comm);
            const Traffic traffic = record(comm, [&] { tree_broadcast(data, root, comm); });
            INFO(
                "p = " << p << ", root " << root
                       << ": the longest chain of messages that wait for each other is "
                       << traffic.rounds << " long; " << ceil_log(p) << " is right."
            );
            INFO("In each round everyone who has the data sends it to one who has not.");
            CHECK(traffic.rounds <= ceil_log(p));
        }
    });
}

TEST_CASE("tree_broadcast refuses a root that is not a rank") {
    on_ranks({3, 1, 2, 8}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const std::string what_it_did = answer(root, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two tree_broadcasts in a row do not mix") {
    on_ranks({2, 3, 4, 5, 8}, [](const Communicator& comm) {
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = before(1000, first_root, comm, 1);
            auto second = before(1000, second_root, comm, 2);
            INFO("from root " << first_root << ", and at once from root " << second_root);
            tree_broadcast(first, first_root, comm);
            tree_broadcast(second, second_root, comm);
            CHECK(is_roots_data(first, first_root, comm, 1));
            CHECK(is_roots_data(second, second_root, comm, 2));
        }
    });
}

TEST_CASE("tree_broadcast stays inside the communicator it is given") {
    on_ranks({4, 5, 8}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = before(7, 1, *group);
            tree_broadcast(data, 1, *group);
            CHECK(is_roots_data(data, 1, *group));
        }
    });
}
