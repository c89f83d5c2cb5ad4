// broadcast: the root's data on every rank, one message from the root to each of the others.
#include "exercises/02_naive_collectives/broadcast.hpp"

#include <string>

#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "broadcast is to be built from send and recv");

/// What the ranks hold before the call: the root its data, the others nothing of use.
std::vector<float> before(std::size_t n, int root, const Communicator& comm, std::uint64_t salt) {
    return comm.rank() == root ? input(n, root, salt) : poison(n);
}

Comparison is_roots_data(const std::vector<float>& data, int root, std::uint64_t salt) {
    return same(data, input(data.size(), root, salt));
}

/// How broadcast answers to `root`: "std::invalid_argument", or what it did in its place.
std::string answer(int root, const Communicator& comm) {
    auto data = poison(7);
    try {
        broadcast(data, root, comm);
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error& error) {
        return std::string("dist::Error: ") + error.what();
    }
    return "it returned as if all were well";
}

}  // namespace

TEST_CASE("broadcast gives every rank the root's data, from every root") {
    const std::size_t n = GENERATE(7U, 0U, 1U, 2U, 3U, 4U, 5U, 6U, 1000U);
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            INFO(n << " floats from root " << root << " to " << comm.size() << " ranks");
            auto data = before(n, root, comm, 0);
            // record, for its end: nobody goes on to the next root before all have returned
            record(comm, [&] { broadcast(data, root, comm); });
            CHECK(is_roots_data(data, root, 0));
        }
    });
}

TEST_CASE("broadcast is right for a large message") {
    on_ranks({2, 5}, [](const Communicator& comm) {
        const int root = comm.size() - 1;
        auto data = before(300'000, root, comm, 0);
        broadcast(data, root, comm);
        CHECK(is_roots_data(data, root, 0));
    });
}

TEST_CASE("broadcast costs one message to each rank, all of them from the root") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        const long others = comm.size() - 1;
        for (int root = 0; root < comm.size(); ++root) {
            auto data = before(n, root, comm, 0);
            const Traffic traffic = record(comm, [&] { broadcast(data, root, comm); });
            INFO(
                "root " << root << " of " << comm.size() << " ranks: it sends to each of the others"
            );
            if (comm.rank() == root) {
                CHECK(traffic.messages_sent == others);
                CHECK(traffic.bytes_sent == others * 4 * static_cast<long>(n));
                CHECK(traffic.messages_received == 0);
            } else {
                INFO("only the root sends; a rank that passes the data on is another algorithm");
                CHECK(traffic.messages_sent == 0);
                CHECK(traffic.messages_received == 1);
                CHECK(traffic.received_from == std::set{root});
            }
        }
    });
}

TEST_CASE("broadcast refuses a root that is not a rank") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const std::string what_it_did = answer(root, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two broadcasts in a row do not mix") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = before(n, first_root, comm, 1);
            auto second = before(n, second_root, comm, 2);
            INFO("from root " << first_root << ", and at once from root " << second_root);
            broadcast(first, first_root, comm);
            broadcast(second, second_root, comm);
            CHECK(is_roots_data(first, first_root, 1));
            CHECK(is_roots_data(second, second_root, 2));
        }
    });
}

TEST_CASE("broadcast goes to the ranks of the communicator that was given, and to no others") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = before(7, 0, *group, 0);
            broadcast(data, 0, *group);
            CHECK(is_roots_data(data, 0, 0));
        }
    });
}
