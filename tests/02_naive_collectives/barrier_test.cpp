// barrier, dissemination_barrier: nobody leaves before everybody has come, and in how many
// messages.
#include "exercises/02_naive_collectives/barrier.hpp"

#include <string>
#include <unistd.h>

#include "tests/02_naive_collectives/shared_flags.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "barrier is to be built from messages");

using Barrier = void (*)(const Communicator&);

/// Each rank raises its flag and enters, `late` some milliseconds after the others; who leaves
/// looks at all flags. `use` numbers the calls of this test.
Comparison all_had_come(Barrier enter, int late, const Communicator& comm, int use) {
    static SharedFlags flags;
    flags.begin(comm, static_cast<std::size_t>(use));
    if (comm.rank() == late) {
        usleep(2000 + static_cast<useconds_t>(seed() % 1000));
    }
    flags.raise(comm.rank());
    enter(comm);
    std::string missing;
    for (int r = 0; r < comm.size(); ++r) {
        if (!flags.is_up(r)) {
            missing += (missing.empty() ? "rank " : " and rank ") + std::to_string(r);
        }
    }
    return {missing.empty(), "it left, and " + missing + " had not come yet"};
}

void nobody_leaves_early(Barrier enter, int first_use) {
    on_ranks({3, 1, 2, 4, 5, 8}, [&](const Communicator& comm) {
        for (int late = 0; late < comm.size(); ++late) {
            INFO(
                comm.size() << " ranks; rank " << late << " came late, and all others had to wait"
            );
            const Comparison all_in_time = all_had_come(enter, late, comm, first_use + late);
            CHECK(all_in_time);
        }
    });
}

void two_in_a_row(Barrier enter, int first_use) {
    on_ranks({3, 2, 4, 5, 8}, [&](const Communicator& comm) {
        for (int late = 0; late < comm.size(); ++late) {
            INFO(
                comm.size() << " ranks; two calls, and rank " << late << " came late to the second"
            );
            enter(comm);
            const Comparison all_in_time = all_had_come(enter, late, comm, first_use + late);
            CHECK(all_in_time);
        }
    });
}

void on_groups(Barrier enter, int first_use) {
    on_ranks({3, 4, 5}, [&](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (int late = 0; late < comm.size(); ++late) {
            INFO("all ranks, numbered from the other end; rank " << late << " came late");
            const Comparison all_in_time = all_had_come(enter, late, reversed, first_use + late);
            CHECK(all_in_time);
        }
        enter(half);  // the other half has a barrier of its own
    });
}

/// ceil(log2 p)
int steps_of(int p) {
    int steps = 0;
    for (int distance = 1; distance < p; distance *= 2) {
        ++steps;
    }
    return steps;
}

}  // namespace

TEST_CASE("barrier lets nobody leave before everybody has come, whoever is late") {
    nobody_leaves_early(barrier, 0);
}

TEST_CASE("barrier is one message from each rank to rank 0, and one back") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        const long others = comm.size() - 1;
        const Traffic traffic = record(comm, [&] { barrier(comm); });
        INFO(comm.size() << " ranks: all report to rank 0, then rank 0 lets all go");
        const long expected = comm.rank() == 0 ? others : 1;
        CHECK(traffic.messages_received == expected);
        CHECK(traffic.messages_sent == expected);
        if (comm.rank() != 0) {
            CHECK(traffic.partners() == std::set{0});
        }
        CHECK(traffic.rounds <= 2 * others);
        INFO("a message without content does");
        CHECK(traffic.bytes_sent <= 8 * traffic.messages_sent);
    });
}

TEST_CASE("dissemination_barrier lets nobody leave before everybody has come, whoever is late") {
    nobody_leaves_early(dissemination_barrier, 10);
}

TEST_CASE("dissemination_barrier sends to r + 1, r + 2, r + 4, ... and to no others") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        std::set<int> to;
        std::set<int> from;
        for (int distance = 1; distance < p; distance *= 2) {
            to.insert((r + distance) % p);
            from.insert((r - distance + p) % p);
        }
        const Traffic traffic = record(comm, [&] { dissemination_barrier(comm); });
        INFO(
            "rank " << r << " of " << p << ": " << steps_of(p) << " steps, in step k a message to "
                    << "r + 2^k and one from r - 2^k, mod p"
        );
        CHECK(traffic.sent_to == to);
        CHECK(traffic.received_from == from);
        CHECK(traffic.messages_sent == steps_of(p));
        CHECK(traffic.messages_received == steps_of(p));
        INFO("a message without content does");
        CHECK(traffic.bytes_sent <= 8 * traffic.messages_sent);
    });
}

TEST_CASE("dissemination_barrier is over after ceil(log2 p) rounds") {
    on_ranks({3, 2, 4, 5, 8}, [](const Communicator& comm) {
        const int steps = steps_of(comm.size());
        const Traffic traffic = record(comm, [&] { dissemination_barrier(comm); });
        // Full-duplex a step is 1 round. A rank that sends, then receives, or the other way around,
        // is right too: 2, and 3 on an odd circle, where two senders meet.
        const int allowed_rounds = (2 + comm.size() % 2) * steps;
        INFO(
            traffic.rounds << " messages had to wait for each other; " << steps << " steps do for "
                           << comm.size() << " ranks, all at the same time"
        );
        CHECK(traffic.rounds <= allowed_rounds);
    });
}

TEST_CASE("two barriers in a row do not mix") {
    two_in_a_row(barrier, 20);
    two_in_a_row(dissemination_barrier, 30);
}

TEST_CASE("both barriers hold the ranks of the communicator that was given, and no others") {
    on_groups(barrier, 40);
    on_groups(dissemination_barrier, 50);
}
