// all_to_all: block j of rank r as block r of rank j, p-1 messages from each rank, in p-1 rounds.
#include "exercises/02_naive_collectives/all_to_all.hpp"

#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/labels_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_to_all is to be built from messages");

std::size_t length(std::size_t m, const Communicator& comm) {
    return m * static_cast<std::size_t>(comm.size());
}

/// Whether block j of `out` is the block that rank j had for this rank.
Comparison has_my_blocks(const std::vector<float>& out, const Communicator& comm, int call = 0) {
    const std::size_t m = out.size() / static_cast<std::size_t>(comm.size());
    const std::size_t mine = m * static_cast<std::size_t>(comm.rank());
    std::vector<float> expected;
    for (int src = 0; src < comm.size(); ++src) {
        const auto block = labels(mine, mine + m, src, call);
        expected.insert(expected.end(), block.begin(), block.end());
    }
    return same_labels(out, expected);
}

}  // namespace

TEST_CASE("all_to_all brings block j of every rank to rank j, in the order of the ranks") {
    const std::size_t m = GENERATE(2U, 0U, 1U, 7U, 333U);
    on_ranks({3, 1, 2, 4, 5, 8}, [&](const Communicator& comm) {
        const std::size_t n = length(m, comm);
        INFO(
            comm.size() << " ranks, blocks of " << m << " floats; block " << comm.rank()
                        << " of each rank's in is for this rank " << comm.rank()
        );
        const auto in = labels(n, comm.rank());
        auto out = poison(n);
        record(comm, [&] { all_to_all(in, out, comm); });
        CHECK(has_my_blocks(out, comm));
        CHECK(same_labels(in, labels(n, comm.rank())));
    });
}

TEST_CASE("all_to_all sends one block to each other rank, and nothing through a third") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        const std::size_t m = 100;
        const long others = comm.size() - 1;
        const auto in = labels(length(m, comm), comm.rank());
        auto out = poison(in.size());
        const Traffic traffic = record(comm, [&] { all_to_all(in, out, comm); });
        std::set<int> all_others;
        for (int r = 0; r < comm.size(); ++r) {
            if (r != comm.rank()) {
                all_others.insert(r);
            }
        }
        INFO(
            "rank " << comm.rank() << " of " << comm.size() << " sends one block to each of the "
                    << "others and receives one from each; its own it copies"
        );
        CHECK(traffic.messages_sent == others);
        CHECK(traffic.bytes_sent == others * 4 * static_cast<long>(m));
        CHECK(traffic.sent_to == all_others);
        CHECK(traffic.messages_received == others);
        CHECK(traffic.received_from == all_others);
    });
}

TEST_CASE("all_to_all keeps every rank busy in every round: nobody is everyone's first") {
    on_ranks({4, 5, 8}, [](const Communicator& comm) {
        const int p = comm.size();
        const auto in = labels(length(100, comm), comm.rank());
        auto out = poison(in.size());
        const Traffic traffic = record(comm, [&] { all_to_all(in, out, comm); });
        INFO(
            traffic.rounds << " rounds for " << p << " ranks: a rank takes in one message a round, "
                           << "so those that send to the same rank wait for each other. " << p - 1
                           << " do: in step s everyone sends to r + s while it receives from r - s"
        );
        // p - 1; and one more, for an exchange in pairs with an odd p leaves one rank out each time
        const int allowed_rounds = p;
        CHECK(traffic.rounds <= allowed_rounds);
    });
}

TEST_CASE("all_to_all refuses lengths that do not fit") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        const std::size_t n = length(2, comm);
        {
            INFO(n + 1 << " floats do not make " << comm.size() << " equal blocks");
            auto out = poison(n + 1);
            const std::string what_it_did =
                answer([&] { all_to_all(labels(n + 1, comm.rank()), out, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
        for (const std::size_t wrong : {length(1, comm), length(3, comm)}) {
            INFO("in has " << n << " floats, out " << wrong);
            auto out = poison(wrong);
            const std::string what_it_did =
                answer([&] { all_to_all(labels(n, comm.rank()), out, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two all_to_alls in a row do not mix") {
    on_ranks({3, 2, 4, 5, 8}, [](const Communicator& comm) {
        const std::size_t n = length(100, comm);
        auto first = poison(n);
        auto second = poison(n);
        all_to_all(labels(n, comm.rank(), 0), first, comm);
        all_to_all(labels(n, comm.rank(), 1), second, comm);
        CHECK(has_my_blocks(first, comm, 0));
        CHECK(has_my_blocks(second, comm, 1));
    });
}

TEST_CASE("all_to_all goes to the ranks of the communicator that was given, and to no others") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            auto out = poison(length(3, group));
            all_to_all(labels(out.size(), group.rank()), out, group);
            CHECK(has_my_blocks(out, group));
        });
    });
}

TEST_CASE("all_to_all is right for large messages") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        auto out = poison(length(60'000, comm));
        all_to_all(labels(out.size(), comm.rank()), out, comm);
        CHECK(has_my_blocks(out, comm));
    });
}
