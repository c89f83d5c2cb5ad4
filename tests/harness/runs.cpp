#include "tests/harness/runs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <map>
#include <sched.h>
#include <typeinfo>
#include <unistd.h>

#include <mpi.h>

#include "course/runtime/error.hpp"
#include "tests/harness/crash.hpp"
#include "tests/harness/groups.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/messages.hpp"
#include "tests/harness/roll_call.hpp"

namespace dist::harness {
namespace {

struct Skipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

TestRun test;
bool asking_for_info = false;
bool selected = true;
long test_number = 0;
long body_number = 0;  // of this test: runs are numbered alike on every rank
long gate_number = 0;  // of this body
int comm_version = 0;  // a test that failed may have left messages behind: new communicators then
std::map<int, MPI_Comm> communicators;

constexpr long kBodiesPerTest = 1'000'000;

bool a_rank_died() {
    return board().died != 0;
}

// Sleeps or spins until `condition`; false if a rank died meanwhile. Messages go on moving: a rank
// that has returned may have left a receive behind, which a sender still waits for.
template <class Condition>
bool wait_until(Condition condition) {
    for (int spins = 0; !condition(); ++spins) {
        if (a_rank_died()) {
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

MPI_Comm communicator_of(int p) {
    auto found = communicators.find(p);
    if (found == communicators.end()) {
        MPI_Group world = MPI_GROUP_NULL;
        MPI_Group members = MPI_GROUP_NULL;
        int range[1][3] = {{0, p - 1, 1}};
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        PMPI_Group_range_incl(world, 1, range, &members);
        MPI_Comm comm = MPI_COMM_NULL;
        const int tag = (comm_version * kMaxRanks + p) % 30000;
        PMPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &comm);
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        PMPI_Group_free(&world);
        PMPI_Group_free(&members);
        declare_group(
            comm, static_cast<std::uint64_t>(1000 + p), static_cast<std::uint64_t>(comm_version)
        );
        found = communicators.emplace(p, comm).first;
    }
    return found->second;
}

void worsen(Outcome outcome, const std::string& message) {
    if (outcome > test.outcome) {
        test.outcome = outcome;
        test.message = message;
    }
}

std::string type_name(const std::exception& error) {
    int status = 0;
    char* text = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
    std::string name = text != nullptr ? text : "an exception";
    std::free(text);
    return name;
}

// What INFO says where an exception was thrown: Catch2 tells it with a failed check only.
std::string info_in_scope() {
    asking_for_info = true;
    test.info.clear();
    FAIL_CHECK("");
    asking_for_info = false;
    std::string text;
    for (const std::string& line : test.info) {
        if (!line.empty()) {
            text += (text.empty() ? " (" : "; ") + line;
        }
    }
    return text.empty() ? "" : text + ")";
}

// Runs the body, and turns what leaves it into an outcome. Says where the rank stands afterwards.
Phase run_body(const std::function<void(const Communicator&)>& body, const Communicator& comm) {
    const std::size_t failures_before = test.failures.size();
    try {
        const CrashReports crashes;
        body(comm);
        leave_if_stopped();
        return Phase::returned;
    } catch (const NotImplemented& error) {
        worsen(Outcome::not_started, error.what());
    } catch (const ForbiddenCall& error) {
        worsen(Outcome::forbidden, error.what());
    } catch (const Skipped& error) {
        worsen(Outcome::skipped, error.what());
    } catch (const Stopped& error) {
        worsen(Outcome::stopped, error.what());
        if (test.phase.empty()) {  // otherwise it was stopped inside a check before
            test.phase = my_line().phase == Phase::returned ? "returned" : "waiting";
        }
        return Phase::waiting;
    } catch (const std::exception& error) {
        const std::string text = error.what();  // LibTorch's goes on with its own stack
        const std::string first_line = text.substr(0, text.find('\n'));
        worsen(Outcome::fail, type_name(error) + " was thrown: " + first_line + info_in_scope());
    } catch (...) {
        // A failed REQUIRE leaves this way too; it has been noted already.
        if (test.failures.size() == failures_before) {
            worsen(Outcome::fail, "something was thrown that is not a std::exception");
        }
    }
    test.phase = "threw";
    return Phase::threw;
}

// A deadlock is somebody's own only if nobody left by an exception.
void judge_stop(int p) {
    if (!stopped() || test.outcome != Outcome::stopped) {
        return;
    }
    const bool somebody_threw =
        !everyone(p, [](Slot& slot) { return slot.line[0].phase != Phase::threw; });
    const Stop reason = board().stop;
    if (reason == Stop::collectives_differ || (reason == Stop::deadlock && !somebody_threw)) {
        worsen(Outcome::hang, board().stop_message);
    }
}

void run_on(int p, const std::function<void(const Communicator&)>& body) {
    const long run = test_number * kBodiesPerTest + ++body_number;
    const int me = world_rank();
    if (me < p) {
        test.ranks = p;
        gate_number = 0;
        for (Line& line : my_slot().line) {
            line.phase = Phase::absent;
        }
        my_slot().exit_called = 0;
        reset_arrivals();
        reset_traffic();
        my_slot().run_started = run;
        if (!wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_started >= run; }); }
            )) {
            return;
        }
        const Communicator comm = Communicator::borrow(communicator_of(p));
        enter_run(run, p);
        publish(Phase::computing);
        const Phase end = run_body(body, comm);
        if (end != Phase::waiting) {
            publish(end);
        }
        // Everybody must have left the body before anyone judges it.
        my_slot().run_left = run;
        wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_left >= run; }); });
        if (stopped() && test.outcome == Outcome::pass) {
            worsen(Outcome::stopped, board().stop_message);
            test.phase = "returned";
        }
        judge_stop(p);
        const std::string left = leftovers();
        if (!left.empty() && test.outcome == Outcome::pass) {
            worsen(Outcome::fail, left);
        }
        leave_run();
        if (test.outcome != Outcome::pass || !test.failures.empty()) {
            board().failed_test = test_number;
        }
        my_slot().run_done = run;
    }
    wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_done >= run; }); });
}

std::vector<int> sizes_to_run(const std::vector<int>& sizes) {
    const char* only = std::getenv(kEnvRanks);
    if (only == nullptr || std::atoi(only) == 0) {
        return sizes;
    }
    const int p = std::atoi(only);
    if (sizes.size() == 1 && sizes[0] != p) {
        worsen(Outcome::skipped, "this test needs exactly " + std::to_string(sizes[0]) + " ranks");
        return {};
    }
    return {p};
}

}  // namespace

TestRun& current_test() {
    return test;
}
bool test_is_selected() {
    return selected;
}

void add_failure(Failure failure) {
    if (asking_for_info) {
        test.info = std::move(failure.info);
        return;
    }
    worsen(Outcome::fail, "");
    test.failures.push_back(std::move(failure));
}

bool note_course_exception() {
    try {
        throw;
    } catch (const NotImplemented& error) {
        worsen(Outcome::not_started, error.what());
    } catch (const ForbiddenCall& error) {
        worsen(Outcome::forbidden, error.what());
    } catch (const Stopped& error) {
        worsen(Outcome::stopped, error.what());
        test.phase = "waiting";
    } catch (...) {
        return false;
    }
    return true;
}

void begin_test(const std::string& name, bool is_selected) {
    test = TestRun{};
    test.name = name;
    selected = is_selected;
    ++test_number;
    body_number = 0;
    std::snprintf(my_slot().test, sizeof my_slot().test, "%s", is_selected ? name.c_str() : "");
}

bool end_test() {
    my_slot().test[0] = '\0';
    my_slot().tests_done = test_number;
    const bool all_live = wait_until([&] {
        return everyone(world_size(), [&](Slot& s) { return s.tests_done >= test_number; });
    });
    // New communicators for the next test, whatever came of this one: messages that it left behind
    // match nothing there, and no rank has to know how another fared.
    ++comm_version;
    communicators.clear();
    return all_live;
}

void on_ranks(const std::vector<int>& sizes, const std::function<void(const Communicator&)>& body) {
    if (!selected) {
        return;
    }
    for (const int p : sizes_to_run(sizes)) {
        if (board().failed_test == test_number || a_rank_died()) {
            return;
        }
        if (p > world_size()) {
            worsen(
                Outcome::fail, "the test asks for more ranks than exercises/course.toml gives it"
            );
            return;
        }
        run_on(p, body);
    }
}

void on_ranks(
    std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body
) {
    on_ranks(std::vector<int>(sizes), body);
}

namespace {

// Waits until every rank of the body in progress stands here. A rank in a gate has, for the others,
// returned from the code under test.
void gate() {
    const long number = current_run() * 1000 + ++gate_number;
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
}

}  // namespace

Traffic record(const Communicator& comm, const std::function<void()>& body) {
    gate();
    reset_traffic();
    gate();
    body();
    Traffic result = traffic();
    my_slot().rounds = result.rounds;
    gate();
    const Group& group = group_of(comm.handle());
    for (const int member : group.members) {
        result.rounds = std::max(result.rounds, slot_of(member).rounds.load());
    }
    gate();
    return result;
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

void skip(const std::string& reason) {
    throw Skipped(reason);
}

}  // namespace dist::harness
