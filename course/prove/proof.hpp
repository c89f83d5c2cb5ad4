// Every order of messages of an exercise's test, on a few simulated ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/prove/simulated_tests.hpp"
#include "course/report/drawing.hpp"

namespace dist::cli {

/// What is to be proved.
struct Claim {
    std::filesystem::path module;
    std::filesystem::path source;
    int ranks = 3;
    std::string test;  // only tests whose name holds this
    long most_states = 0;
    double time_limit_s = 0;
};

/// One trial of a test, in every order of its messages.
struct Explored {
    std::string test;
    long trial = 0;
    long calls = 0;  // of MPI, by all ranks
    long states = 0;
    double seconds = 0;
};

/// An order in which it goes wrong.
struct WrongOrder {
    TestResult test;
    std::string replay;  // "TRIAL:PATH", for --replay
    std::vector<simulation::Message> messages;
};

struct Proof {
    std::vector<Explored> explored;
    long repeated = 0;                  // trials with the same messages as one that was explored
    std::vector<std::string> left_out;  // tests without messages, or that are skipped
    std::optional<WrongOrder> wrong;
    std::string cut_short;  // why this is no proof; empty: it is one
    double seconds = 0;

    [[nodiscard]] long states() const;
    [[nodiscard]] bool is_proof() const { return !wrong && cut_short.empty() && !explored.empty(); }
};

/// Tries every order, and shows its progress.
/// Errors  CommandError where the test does not run, or is not started; Interrupted
Proof prove(Context& context, const Claim& claim);

/// The order of messages that an earlier proof has found.
/// Errors  UsageError if `replay` is no such order
WrongOrder replay(Context& context, const Claim& claim, const std::string& replay);

/// The proof as text, and as JSON. `command` is the line that was typed, without options of this run alone.
std::string text_of(const Proof& proof, const Claim& claim, const std::string& command);
std::string json_of(const Proof& proof, const Claim& claim, const std::string& name);
std::string text_of(const WrongOrder& wrong);

/// The order as trace draws it: one message a round, as they came, and who waits in the end.
Drawing drawing_of(const WrongOrder& wrong, const std::string& exercise);

}  // namespace dist::cli
