// Where a test stands: which test, which on_ranks body, and how it went on this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "course/protocol/terms.hpp"
#include "course/runtime/communicator.hpp"
#include "course/trace/step.hpp"

namespace dist::harness {

struct Failure {
    std::string expression;
    std::string expansion;
    std::string file;
    int line = 0;
    std::vector<std::string> info;
};

/// What a rank waited in when it was stopped.
struct WaitsIn {
    std::string call;
    int peer = -1;  // -1: no rank can do anything about it
    int tag = -1;
    CallKind kind = CallKind::none;
    Direction direction = Direction::none;
    double since_s = 0;
};

/// A rank that was a plain process: see processes/processes.hpp.
struct ProcessRun {
    Outcome outcome = Outcome::pass;
    std::string message;
    std::vector<Failure> failures;
    std::string died;                   // "killed by SIGKILL"; empty: its body ended
    Phase phase = Phase::absent;        // where it stood when it died or was stopped
    std::vector<std::uint64_t> frames;  // of that place
    WaitsIn waits_in;                   // where it waited
    trace::Log log;
};

struct TestRun {
    std::string name;
    Outcome outcome = Outcome::pass;
    std::string message;
    std::vector<Failure> failures;
    std::vector<std::string> info;  // what INFO said when note_info() asked
    long controls = 0;              // checks that had to fail, and did
    trace::Limits limits;           // that it went beyond
    bool failed_elsewhere = false;  // on another rank, which draws this one's messages as well
    int ranks = 0;                  // world of the last body, or of the one that failed
    Phase phase = Phase::absent;    // where this rank stood when it was stopped; absent: it was not
    std::vector<ProcessRun> processes;  // those that the last body on such ranks had
};

/// The test in progress.
TestRun& current_test();

/// A test begins: the same on every rank, one after the other. `selected` is false for a test that
/// this run leaves out: its bodies are not run.
void begin_test(const std::string& name, bool selected);

/// The test ended on this rank; waits until it has ended on all. Returns false if a rank has died,
/// and this one must leave.
bool end_test();

/// Whether any rank failed the test that has just ended on all.
bool some_rank_failed();

/// Whether the test in progress was selected.
bool test_is_selected();

/// Notes what INFO says of the place that an exception has left. Call in the handler.
void note_info();

/// Notes a failed check; of note_info()'s check only what INFO says.
void add_failure(Failure failure);

/// Makes a check that must fail, and does not count it as a failure of the test. If it does not arrive at
/// add_failure(), somebody has disabled the checks. It counts as a check that was made.
void control_the_checks();

/// Makes the outcome of the test in progress `outcome`, unless it is as bad already.
void worsen(Outcome outcome, const std::string& message);

/// An exception that came out of the expression of a CHECK. True if it is the course's own way to
/// end a body (not started, forbidden, skipped, stopped), which is noted, and no failed check.
bool note_course_exception();

/// "std::invalid_argument"
std::string type_name(const std::exception& error);

/// Any other exception that ended a body: the test has failed. Call in the handler.
void note_exception();

}  // namespace dist::harness
