// Gates: places of a test that no rank passes before every rank has come. They carry no message.

#include "tests/harness/job/gates.hpp"

#include <cstring>
#include <sched.h>
#include <unistd.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/job/memory.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr long kGatesPerRun = 1000;
long gate_number = 0;  // of this body

}  // namespace

bool wait_until(const std::function<bool()>& condition) {
    for (int spins = 0; !condition(); ++spins) {
        if (board().died != 0) {
            return false;
        }
        note_finished_messages();
        if (spins < 200) {
            sched_yield();
        } else {
            usleep(100);
        }
    }
    return true;
}

bool everyone(int ranks, const std::function<bool(Slot&)>& condition) {
    for (int r = 0; r < ranks; ++r) {
        if (!condition(slot_of(r))) {
            return false;
        }
    }
    return true;
}

void gate() {
    const Uncounted harness;
    const long number = current_run() * kGatesPerRun + ++gate_number;
    publish(Phase::returned);
    my_slot().gate = number;
    const long run = current_run();
    const auto here = [&](Slot& s) { return s.gate >= number; };
    const auto here_or_gone = [&](Slot& s) { return here(s) || s.run_left >= run; };
    wait_until([&] { return everyone(participants(), here_or_gone) || stopped(); });
    leave_if_stopped();
    if (!everyone(participants(), here)) {
        stop_all(Stop::deadlock, "another rank left the test");
        leave_if_stopped();
    }
    publish(Phase::computing);
    my_slot().gate_left = number;
}

void reset_gates() {
    gate_number = 0;
    my_slot().gate_left = my_slot().gate.load();
}

Comparison same_on_all_ranks(std::span<const float> data, const Communicator& comm) {
    std::uint64_t hash = data.size();
    for (const float x : data) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ bits) * 0x100000001B3U;
    }
    my_slot().value = hash;
    gate();
    Comparison result;
    const Group& group = group_of(comm.handle());
    for (int r = 0; r < group.size(); ++r) {
        if (slot_of(group.world_rank(r)).value != hash && result.equal) {
            result.equal = false;
            result.text = "rank " + std::to_string(r) + " holds other bits than rank " +
                          std::to_string(comm.rank());
        }
    }
    gate();
    return result;
}

}  // namespace dist::harness
