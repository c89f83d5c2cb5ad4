// What a run found. Everything that is printed or written about a run is made from this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "course/protocol/terms.hpp"
#include "course/trace/step.hpp"

namespace dist::cli {

enum class State {
    pass,
    fail,
    not_started,
    build_error,
    crash,
    hang,
    time_limit,
    memory_limit,
    output_limit,
    abort,
    early_exit,
    forbidden,
    not_run,
    skipped,
    harness_error,
};
std::string_view name_of(State state);
std::optional<State> state_of(std::string_view name);
/// What `run` exits with.
int exit_status_of(State state);

/// A check that did not hold.
struct Failure {
    std::string expression;
    std::string expansion;  // with values
    std::string file;
    int line = 0;
    std::vector<std::string> info;
};

/// How a rank came out of a test.
enum class RankState { ok, mismatch, signal, exit, abort, blocked, computing, not_started };
std::string_view name_of(RankState state);

/// One rank in one test.
struct RankResult {
    int rank = 0;
    RankState state = RankState::ok;
    std::string signal;  // "SIGSEGV"
    int exit_code = 0;
    std::string call;  // "MPI_Recv(from rank 2, tag 0, 4 bytes)"
    int peer = -1;
    int rank_in_comm =
        -1;  // this rank, and its peer, in the communicator of the call; -1: not known
    int peer_in_comm = -1;
    int tag = -1;
    double blocked_s = 0;
    harness::Phase phase = harness::Phase::absent;     // where it stood when the test was stopped
    harness::CallKind kind = harness::CallKind::none;  // of `call`
    harness::Direction direction = harness::Direction::none;
    long collectives = 0;               // that it had called
    std::string where;                  // "ring_shift.cpp:14"
    std::string reference;              // of a lower exercise, which that line called: "send"
    std::vector<std::uint64_t> frames;  // what `where` is made from, innermost first
    std::vector<std::string> info;      // what the test said of the call in which it waits
    std::string died;  // "killed by SIGKILL", where its test goes on without it; empty: it lives
    std::string message;
    std::vector<Failure> failures;
    std::string output;                                  // what it printed during the test
    std::vector<std::pair<std::string, long>> counters;  // traffic of the code under test
    long checks = 0;                                     // that were made
    trace::Log log;  // what it did with messages; empty where nothing is to be told
};

struct TestResult {
    std::string name;
    bool planned = true;  // false: stands for the program as a whole
    int ranks = 1;        // of the world it ended in
    State status = State::not_run;
    std::string message;  // one or more sentences; empty on a pass
    std::string where;    // where to look: "ring_shift.cpp:14"
    double duration_s = 0;
    std::string repro;  // the command that runs exactly this again
    std::vector<RankResult> per_rank;
};

struct Result {
    std::string exercise;
    std::string course_commit;  // short; empty without git
    std::string source;         // the file under test, relative to the repository
    std::string as;             // the file that took its place; empty: none did
    State status = State::not_run;
    std::string message;  // what concerns the run as a whole
    std::uint64_t seed = 1;
    std::string started_at;  // UTC, ISO 8601
    double duration_s = 0;
    std::string build_log;  // when it did not build
    std::vector<TestResult> tests;
    bool partial = false;      // only some of the tests, or of the numbers of ranks, were asked for
    bool on_stand_in = false;  // there was no GPU: see gpu.hpp
    std::vector<Result> stand_in;  // at most one: what it said, for a GPU exercise that was skipped

    [[nodiscard]] int passed() const;
    [[nodiscard]] const TestResult* first_failed() const;  // null when none failed
};

/// The present as a document spells it: "2026-09-25T10:00:00Z".
std::string utc_now();

/// The run's document (native schema), one line.
std::string to_json(const Result& result);

}  // namespace dist::cli
