#include "tests/harness/job/runs.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <mpi.h>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/job/gates.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/handles.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

TestRun& test = current_test();
bool selected = true;
long test_number = 0;
long body_number = 0;  // of this test: runs are numbered alike on every rank
int comm_version = 0;  // a test that failed may have left messages behind: new communicators then
std::map<int, MPI_Comm> communicators;

constexpr long kBodiesPerTest = 1'000'000;

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
            comm, 1000 + static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(comm_version)
        );
        found = communicators.emplace(p, comm).first;
    }
    return found->second;
}

// Runs the body, and turns what leaves it into an outcome. Says where the rank stands afterwards.
Phase run_body(const std::function<void(const Communicator&)>& body, const Communicator& comm) {
    try {
        const CrashReports crashes;
        body(comm);
        control_the_checks();
        leave_if_stopped();
        return Phase::returned;
    } catch (const Stopped&) {
        note_course_exception();
        note_info();
        return Phase::waiting;
    } catch (...) {
        if (!note_course_exception()) {
            note_exception();
        }
    }
    test.phase = Phase::threw;
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

// Says with a failed check what is often the cause.
void explain(const std::string& what, const std::string& cause) {
    if (!cause.empty() && !test.failures.empty()) {
        test.failures.front().info.push_back(what + cause);
    }
}

void run_on(int p, const std::function<void(const Communicator&)>& body) {
    const long run = test_number * kBodiesPerTest + ++body_number;
    const int me = world_rank();
    if (me < p) {
        test.ranks = p;
        reset_gates();
        for (Line& line : my_slot().line) {
            line.phase = Phase::absent;
        }
        my_slot().exit_called = 0;
        my_slot().overrun[0] = '\0';
        reset_arrivals();
        reset_traffic();
        publish(Phase::computing);  // before anyone can wait for this rank
        my_slot().run_started = run;
        if (!wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_started >= run; }); }
            )) {
            return;
        }
        const Communicator comm = Communicator::borrow(communicator_of(p));
        enter_run(run, p);
        const Phase end = run_body(body, comm);
        if (end != Phase::waiting) {
            publish(end);
        }
        // Everybody must have left the body before anyone judges it.
        my_slot().run_left = run;
        wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_left >= run; }); });
        if (stopped() && test.outcome == Outcome::pass) {
            worsen(Outcome::stopped, board().stop_message);
            test.phase = Phase::returned;
        }
        judge_stop(p);
        const std::string truncated = truncation();
        std::string left = leftovers();
        const std::string leaked = never_freed();
        left = left.empty() ? leaked : left;
        if (!left.empty() && test.outcome == Outcome::pass) {
            const std::string overrun = my_slot().overrun;  // which likely is why
            worsen(Outcome::fail, overrun.empty() ? left : overrun + "; " + left);
        }
        explain("", left);
        explain("", my_slot().overrun);
        explain("a message was truncated: ", truncated);
        leave_run();
        if (test.outcome != Outcome::pass || !test.failures.empty()) {
            board().failed_test = test_number;
        }
        my_slot().run_done = run;
    }
    wait_until([&] { return everyone(p, [&](Slot& s) { return s.run_done >= run; }); });
}

constexpr int kMostExact =
    15;  // ranks: with more, products of input() are no longer exact in float

// Why a test for worlds of these sizes says nothing about one of p ranks; empty: it does.
std::string unfit(const std::vector<int>& sizes, int p) {
    const auto is_power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
    const int smallest = std::ranges::min(sizes);
    const int largest = std::ranges::max(sizes);
    if (std::ranges::find(sizes, p) != sizes.end()) {
        return "";
    }
    if (sizes.size() == 1) {
        return "this test needs exactly " + counted(largest, "rank");
    }
    if (p < smallest) {
        return "this test needs at least " + std::to_string(smallest) + " ranks";
    }
    if (std::ranges::all_of(sizes, is_power) && !is_power(p)) {
        return "this test is for numbers of ranks that are powers of two";
    }
    return p <= std::max(largest, kMostExact)
               ? ""
               : "this test is for at most " + std::to_string(std::max(largest, kMostExact)) +
                     " ranks";
}

std::vector<int> sizes_to_run(const std::vector<int>& sizes) {
    const char* only = std::getenv(kEnvRanks);
    if (only == nullptr || std::atoi(only) == 0) {
        return sizes;
    }
    const int p = std::atoi(only);
    const std::string reason = unfit(sizes, p);
    if (!reason.empty()) {
        worsen(Outcome::skipped, reason);
        return {};
    }
    return {p};
}

}  // namespace

bool test_is_selected() {
    return selected;
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
    if (test.outcome > Outcome::skipped || !test.failures.empty()) {
        board().failed_test = test_number;  // in a check behind on_ranks, too
    }
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

bool some_rank_failed() {
    return board().failed_test == test_number;
}

void on_ranks_each(
    const std::vector<int>& sizes,
    const std::function<std::size_t(int p)>& count,
    const std::function<void(const Communicator&, std::size_t number)>& body
) {
    if (!selected) {
        return;
    }
    for (const int p : sizes_to_run(sizes)) {
        if (p > world_size()) {
            worsen(
                Outcome::fail, "the test asks for more ranks than exercises/course.toml gives it"
            );
            return;
        }
        for (std::size_t number = 0; number < count(p); ++number) {
            if (board().failed_test == test_number || board().died != 0) {
                return;
            }
            run_on(p, [&](const Communicator& comm) { body(comm, number); });
        }
    }
}

void on_ranks(const std::vector<int>& sizes, const std::function<void(const Communicator&)>& body) {
    on_ranks_each(
        sizes, [](int) { return std::size_t{1}; },
        [&](const Communicator& comm, std::size_t) { body(comm); }
    );
}

void on_ranks(
    std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body
) {
    on_ranks(std::vector<int>(sizes), body);
}

}  // namespace dist::harness
