// Right: a message that is through leaves the roll-call while others decide whether all wait in vain. At
// no moment may it be gone while its rank has seen all that moved: that would be called a deadlock.
// state: pass

#include "tests/harness/job/gates.hpp"
#include "tests/harness/mpi/pending.hpp"
#include "tests/harness/roll_call/roll_call.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

using namespace dist::harness;

enum Progress : std::uint64_t { kNotBegun, kUnderWay, kThrough };

/// Messages come, are waited for, and are through, again and again.
void come_and_go(int times) {
    Pending message;
    for (int i = 0; i < times; ++i) {
        message.posted = put_on_board(1, 0, 0, 1);
        moved();
        my_line().seen_epoch = board().epoch.load();
        my_slot().value = kUnderWay;
        take_off_board(message);
    }
    my_slot().value = kThrough;
}

void look_on(const Slot& other) {
    while (other.value != kThrough) {
        const long epoch = board().epoch;
        const bool has_seen_all = other.line[0].seen_epoch == epoch;
        const bool gone = other.message[0].used == 0;
        if (other.value == kUnderWay && has_seen_all && gone && board().epoch == epoch) {
            throw Error("a message was gone, and nothing had moved");
        }
    }
}

}  // namespace

void state(const Communicator& comm) {
    my_slot().value = kNotBegun;
    gate();
    if (comm.rank() == 0) {
        come_and_go(1'000'000);
    } else {
        look_on(slot_of(0));
    }
}

}  // namespace dist
