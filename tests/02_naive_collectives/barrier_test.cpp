// barrier, dissemination_barrier: nobody leaves before everybody has come, and in how many
// messages.
#include "exercises/02_naive_collectives/barrier.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <unistd.h>

#include "course/protocol/counted.hpp"
#include "course/runtime/communicator.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/shared_room.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// One flag for each rank and use.
class SharedFlags {
  public:
    /// Takes the flags of use number `use`, none of them up. Every rank of `comm` makes this call,
    /// and no two uses for communicators of the same size have the same number: a rank that was
    /// stopped in one may be behind the others in the next.
    void begin(const Communicator& comm, std::size_t use) {
        row_ = flags_->up[comm.size()][use % kUses];
    }

    void raise(int rank) { row_[rank] = true; }
    [[nodiscard]] bool is_up(int rank) const { return row_[rank]; }

  private:
    static constexpr std::size_t kSizes = 16;  // of communicators, at most
    static constexpr std::size_t kUses = 128;
    struct Flags {
        std::atomic<bool> up[kSizes + 1][kUses][kSizes];  // new room is all zeros: none is up
    };

    Flags* flags_ = static_cast<Flags*>(shared_room("flags", sizeof(Flags)));
    std::atomic<bool>* row_ = nullptr;
};

const Forbid kForbid({"collectives"}, "barrier is to be built from messages");

using Barrier = void (*)(const Communicator&);

const std::vector<int> kUpTo8 = {3, 1, 2, 4, 5, 8};
constexpr const char* kThroughRank0 = "All report to rank 0, then rank 0 lets all go.";
constexpr const char* kByDissemination =
    "ceil(log2 p) steps, in step k a message to r + 2^k and one from r - 2^k, mod p";

std::string ranks_text(const std::set<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + list(ranks);
}

/// Each rank raises its flag and enters, `late` some milliseconds after the others; who leaves
/// looks at all flags. `use` numbers the calls of this test.
void check_all_had_come(Barrier enter, int late, const Communicator& comm, int use) {
    static SharedFlags flags;
    flags.begin(comm, static_cast<std::size_t>(use));
    if (comm.rank() == late) {
        usleep(2000 + static_cast<useconds_t>(seed() % 1000));
    }
    flags.raise(comm.rank());
    enter(comm);
    std::set<int> missing;
    for (int r = 0; r < comm.size(); ++r) {
        if (!flags.is_up(r)) {
            missing.insert(r);
        }
    }
    const Comparison all_in_time{
        missing.empty(), "it left, and " + ranks_text(missing) + " had not come yet"};
    INFO(
        counted(comm.size(), "rank")
        << "; rank " << late << " came late, and all others had to wait"
    );
    CHECK(all_in_time);
}

/// Each rank in turn comes late; with `again` to the second of two calls.
void nobody_leaves_early(
    Barrier enter, int first_use, const std::vector<int>& worlds, bool again = false
) {
    on_ranks_each(
        worlds, [](int p) { return static_cast<std::size_t>(p); },
        [&](const Communicator& comm, std::size_t number) {
            const int late = static_cast<int>(number);
            if (again) {
                enter(comm);
            }
            check_all_had_come(enter, late, comm, first_use + late);
        }
    );
}

void in_groups(Barrier enter, int first_use) {
    on_ranks({3, 4, 5}, [&](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (int late = 0; late < comm.size(); ++late) {
            check_all_had_come(enter, late, reversed, first_use + late);
        }
        enter(half);  // the other half has a barrier of its own
    });
}

/// The ranks 1, 2, 4, ... to the right of this one, or to the left.
std::set<int> at_powers_of_two(const Communicator& comm, int sign) {
    std::set<int> ranks;
    for (int distance = 1; distance < comm.size(); distance *= 2) {
        ranks.insert((comm.rank() + sign * distance + comm.size()) % comm.size());
    }
    return ranks;
}

/// Holds the messages of one call against `cost`; `why` is told with a failure.
void spends(
    Barrier enter,
    const std::function<Cost(const Communicator&)>& cost,
    const std::string& why,
    const std::vector<int>& worlds
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        const Traffic traffic = record(comm, [&] { enter(comm); });
        const Comparison spent = within(traffic, cost(comm));
        INFO(counted(comm.size(), "rank") << ", a message without content does");
        INFO(why);
        CHECK(spent);
    });
}

Cost through_rank_0(const Communicator& comm) {
    const long count = comm.rank() == 0 ? comm.size() - 1 : 1;
    return {
        .messages_sent = exactly(count),
        .bytes_sent = exactly(0),
        .messages_received = exactly(count),
        .rounds = at_most(2L * (comm.size() - 1)),
        .partners = comm.rank() == 0 ? std::nullopt : std::optional(std::set{0})};
}

/// Whether rank 0 had heard from all when its first message left. The tests' sends wait for their
/// receivers, and so hold ranks back that a buffered send would let go.
Comparison all_report_first(const Communicator& comm) {
    int heard = 0;
    int lets_go = std::numeric_limits<int>::max();
    for (const MessageRecord& message : recorded_messages(comm)) {
        if (message.dst == 0) {
            heard = std::max(heard, message.end);
        } else {
            lets_go = std::min(lets_go, message.begin);
        }
    }
    if (heard <= lets_go) {
        return {};  // also where a rank is alone, and no message is sent
    }
    return {
        false, "rank 0 let a rank go in round " + std::to_string(lets_go + 1) +
                   ", before all had reported: that took " + std::to_string(heard)};
}

Cost by_dissemination(const Communicator& comm) {
    const auto to = at_powers_of_two(comm, 1);
    const auto steps = static_cast<long>(to.size());
    return {
        .messages_sent = exactly(steps),
        .bytes_sent = exactly(0),
        .messages_received = exactly(steps),
        .sent_to = to,
        .received_from = at_powers_of_two(comm, -1)};
}

Cost in_few_rounds(const Communicator& comm) {
    // Full-duplex a step is 1 round. A rank that sends, then receives, or the other way around, is
    // right too: 2, and 3 on an odd circle, where two senders meet.
    const auto steps = static_cast<long>(at_powers_of_two(comm, 1).size());
    return {.rounds = at_most((2 + comm.size() % 2) * steps)};
}

}  // namespace

TEST_CASE("barrier lets nobody leave before everybody has come, whoever is late") {
    nobody_leaves_early(barrier, 0, kUpTo8);
}

TEST_CASE("barrier is one message from each rank to rank 0, and one back") {
    spends(barrier, through_rank_0, kThroughRank0, kUpTo8);
}

TEST_CASE("barrier lets nobody go before all have reported, also where sends do not wait") {
    on_ranks(kUpTo8, [](const Communicator& comm) {
        record(comm, [&] { barrier(comm); });
        const Comparison in_order = all_report_first(comm);
        CHECK(in_order);
    });
}

TEST_CASE("dissemination_barrier lets nobody leave before everybody has come, whoever is late") {
    nobody_leaves_early(dissemination_barrier, 20, kUpTo8);
}

TEST_CASE("dissemination_barrier sends to r + 1, r + 2, r + 4, ... and to no others") {
    spends(dissemination_barrier, by_dissemination, kByDissemination, kUpTo8);
}

TEST_CASE("dissemination_barrier is over after ceil(log2 p) rounds") {
    spends(
        dissemination_barrier, in_few_rounds,
        "ceil(log2 p) steps do, in each of which all ranks send and receive at the same time.",
        {3, 2, 4, 5, 8}
    );
}

TEST_CASE("both barriers can be called twice in a row") {
    nobody_leaves_early(barrier, 40, kUpTo8, true);
    nobody_leaves_early(dissemination_barrier, 60, kUpTo8, true);
}

TEST_CASE("both barriers stay inside the communicator they are given") {
    in_groups(barrier, 80);
    in_groups(dissemination_barrier, 90);
}

TEST_CASE("both barriers throw dist::Error if a message fails") {
    reports_failures(barrier);
    reports_failures(dissemination_barrier);
}

TEST_CASE("both barriers are right on 11 ranks", "[many]") {
    nobody_leaves_early(barrier, 0, {11});
    nobody_leaves_early(dissemination_barrier, 20, {11});
    spends(barrier, through_rank_0, kThroughRank0, {11});
    spends(dissemination_barrier, by_dissemination, kByDissemination, {11});
}
