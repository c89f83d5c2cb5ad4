// main() of every multi-process test, for Catch2 2 and 3: a rank of the job that the command
// started.
//
// Catch2 runs the tests and evaluates the checks; what is written down is ours (records.hpp),
// because its reporters know one process only and a rank may die at any moment.

#if __has_include(<catch2/catch_test_case_info.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#define SHARDLINGS_CATCH2_V3
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#endif

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <mpi.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/catch2.hpp"
#include "tests/harness/checking_thread.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/job/allocations.hpp"
#include "tests/harness/job/closed.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/job/ranks.hpp"
#include "tests/harness/job/records.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/job/session.hpp"
#include "tests/harness/job/shared_job.hpp"
#include "tests/harness/job/watcher.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

std::vector<std::string> plan;

long output_size() {
    std::fflush(stdout);
    return lseek(STDOUT_FILENO, 0, SEEK_END);
}

// Writes the last words and goes: a rank has died, and MPI with it.
[[noreturn]] void leave_job() {
    my_slot().end = End::left;
    std::fflush(nullptr);
    _exit(1);
}

#ifdef SHARDLINGS_CATCH2_V3
using ListenerBase = Catch::EventListenerBase;
using AssertionAnswer = void;
#else
using ListenerBase = Catch::TestEventListenerBase;
using AssertionAnswer = bool;
#endif

// Catch2 2 writes integers above 255 twice: "1000 (0x3e8)".
std::string without_hexadecimals(const std::string& text) {
    std::string without = text;
    for (std::size_t at = without.find(" (0x"); at != std::string::npos;
         at = without.find(" (0x", at)) {
        const std::size_t end = without.find_first_not_of("0123456789abcdef", at + 4);
        const bool after_digit =
            at > 0 && std::isdigit(static_cast<unsigned char>(without[at - 1]));
        if (after_digit && end != std::string::npos && end > at + 4 && without[end] == ')') {
            without.erase(at, end + 1 - at);
        } else {
            ++at;
        }
    }
    return without;
}

struct Listener : ListenerBase {
    using ListenerBase::ListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        const bool is_selected = std::find(plan.begin(), plan.end(), info.name) != plan.end();
        begin_test(info.name, is_selected);
        this_thread_checks();
        output_begin_ = output_size();
        watch_ = Stopwatch();
    }

    void assertionStarting(const Catch::AssertionInfo& /*info*/) override {
        if (checking_thread.load() != std::this_thread::get_id()) {
            std::snprintf(
                my_slot().end_message, sizeof my_slot().end_message,
                "rank %d: a check of this test ran in another thread than the test itself",
                world_rank()
            );
            std::abort();
        }
    }

    AssertionAnswer assertionEnded(const Catch::AssertionStats& stats) override {
        const Catch::AssertionResult& result = stats.assertionResult;
        const bool thrown = result.getResultType() == Catch::ResultWas::ThrewException;
        const auto macro = std::string(result.getTestMacroName());
        if (thrown && (macro == "CHECK" || macro == "CHECK_FALSE" || macro == "CHECK_NOTHROW")) {
            caught_by_check = std::current_exception();
        }
        if (thrown && note_course_exception()) {
            return AssertionAnswer();
        }
        if (!result.isOk() && test_is_selected()) {
            Failure failure;
            failure.expression = result.getExpressionInMacro();
            failure.expansion = without_hexadecimals(result.getExpandedExpression());
            failure.file = result.getSourceInfo().file;
            failure.line = static_cast<int>(result.getSourceInfo().line);
            for (const auto& message : stats.infoMessages) {
                failure.info.push_back(message.message);
            }
            add_failure(std::move(failure));
        }
        return AssertionAnswer();
    }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        std::fflush(stderr);
        if (test_is_selected()) {
            current_test().failed_elsewhere = some_rank_failed();
            const long checks =
                static_cast<long>(stats.totals.assertions.passed) + current_test().controls;
            write_test(current_test(), watch_.elapsed_s(), checks, output_begin_, output_size());
        }
        if (!end_test()) {
            leave_job();
        }
        if (std::getenv(kEnvUntilFailure) != nullptr && some_rank_failed()) {
            plan.clear();
        }
    }

  private:
    long output_begin_ = 0;
    Stopwatch watch_;
};
CATCH_REGISTER_LISTENER(Listener)

// Whether a test that is for many ranks, or is not, belongs to this job: those for many are left to a job of
// their own, unless this one has as many.
bool is_for_this_job(const session::Test& test) {
    const char* many = std::getenv(kEnvMany);
    const char* ranks = std::getenv(kEnvRanks);
    if (many != nullptr && std::strcmp(many, "1") == 0) {
        return test.many;
    }
    return !test.many || (ranks != nullptr && std::atoi(ranks) == kManyRanks);
}

// The tests to run, in the order they were written: all, or those that the environment names. A whole name
// means that test alone. Counts in `many` those that another job has to run.
std::vector<std::string> make_plan(int& many) {
    const char* given = std::getenv(kEnvTest);
    const char* after = std::getenv(kEnvAfter);
    const std::string text = given == nullptr ? "" : given;
    std::vector<session::Test> tests = session::tests();
    const auto named = [](const std::string& name) {
        return [&name](const session::Test& test) { return test.name == name; };
    };
    const bool whole = std::any_of(tests.begin(), tests.end(), named(text));
    if (after != nullptr && *after != '\0') {
        const auto last = std::find_if(tests.begin(), tests.end(), named(after));
        tests.erase(tests.begin(), last == tests.end() ? last : last + 1);
    }
    std::vector<std::string> names;
    for (const session::Test& test : tests) {
        if (whole ? test.name != text : test.name.find(text) == std::string::npos) {
            continue;
        }
        if (is_for_this_job(test)) {
            names.push_back(test.name);
        } else {
            ++many;
        }
    }
    return names;
}

int world_size_of_job() {
    const char* text = std::getenv("OMPI_COMM_WORLD_SIZE");
    text = text == nullptr ? std::getenv("PMI_SIZE") : text;
    return text == nullptr ? 0 : std::atoi(text);
}

std::string output_file(const std::string& folder) {
    return folder + "/rank-" + std::to_string(world_rank()) + ".out";
}

void redirect_output(const std::string& file) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND, 0644);
    dup2(descriptor, STDOUT_FILENO);
    dup2(descriptor, STDERR_FILENO);
    close(descriptor);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a rank that dies has said what it said
}

void note_exit() {
    if (my_slot().end == End::none) {
        my_slot().exit_called = 1;
    }
}

// What the rank writes goes into the run folder.
void open_files(const std::string& folder) {
    open_records(folder, world_rank());
    redirect_output(output_file(folder));
}

void start_mpi() {
    int provided = 0;
    my_slot().starting = 1;  // where MPI cannot start it ends the program
    PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    my_slot().starting = 0;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    std::vector<void*> warm_up(4);
    backtrace(warm_up.data(), 4);  // loads what a signal handler must not load
    install_terminate_handler();
    std::atexit(note_exit);
}

void run_tests() {
    int many = 0;
    plan = make_plan(many);
    write_plan(plan, many);
    my_slot().planned = 1;
    follow_blocks();
    close_files_if_asked();
    session::run();
    write_finished();
    my_slot().end = End::finished;
    std::fflush(nullptr);
}

// LibTorch would take half a second to be taken down.
[[noreturn]] void end_mpi() {
    PMPI_Finalize();
    _exit(0);
}

// One answer, which is part of this program.
[[noreturn]] void try_one(const std::string& folder) {
    open_files(folder);
    if (!fork_watched_rank(output_file(folder))) {
        _exit(my_slot().end == End::finished ? 0 : 1);
    }
    shift_memory(world_rank());
    start_mpi();
    run_tests();
    end_mpi();
}

// Answers that are loaded one after the other: Note [Shared jobs].
[[noreturn]] void try_several() {
    shift_memory(world_rank());
    start_mpi();
    for_each_answer([](const std::string& folder, const std::string& library) {
        open_files(folder);
        load_answer(library);
        run_tests();
        _exit(0);  // MPI is not this process's to end
    });
    end_mpi();
}

}  // namespace
}  // namespace dist::harness

// AddressSanitizer asks for this: a report ends the rank like any other crash, and Open MPI's own
// leaks are no news.
extern "C" const char* __asan_default_options();   // NOLINT
extern "C" const char* __asan_default_options() {  // NOLINT
    return "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1";
}

int main(int /*argc*/, char** argv) {
    using namespace dist::harness;
    const char* folder = std::getenv(kEnvFolder);
    const int size = world_size_of_job();
    if (folder == nullptr || size < 1) {
        std::fprintf(
            stderr, "%s holds the ranks of a test; start them by: ./shardlings run NAME\n", argv[0]
        );
        return 2;
    }
    try {
        open_board(folder, size);
        set_world_rank(fork_ranks(size));
        if (is_shared_job()) {
            try_several();
        }
        try_one(folder);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "shardlings: %s\n", error.what());
        return 70;
    }
}
