// Every order of events of an exercise that is a function of states and events: its walks (tests/harness/walk).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/process/context.hpp"

namespace dist::cli {

/// What is to be proved.
struct WalkClaim {
    std::filesystem::path program;  // NAME_walk
    std::string exercise;
    std::string walk;  // only walks whose name holds this
    long most_states = 0;
    double time_limit_s = 0;
};

/// A walk: what happens in it, and how many states there are.
struct Walk {
    std::string name;
    long states = 0;
    double seconds = 0;
};

/// An invariant that does not hold after these events; it holds after any fewer ones.
struct BrokenInvariant {
    std::string walk;
    std::string invariant;
    std::string how;  // what is, in its place
    std::vector<std::string> events;
};

struct WalkProof {
    std::vector<Walk> walks;
    std::optional<BrokenInvariant> broken;
    std::string cut_short;  // why this is no proof; empty: it is one
    long states = 0;
    double seconds = 0;

    [[nodiscard]] bool is_proof() const { return !broken && cut_short.empty() && !walks.empty(); }
};

/// Goes through the walks until one breaks an invariant, and shows its progress.
/// Errors  CommandError where the exercise is not started, or the program dies; Interrupted
WalkProof prove_walks(Context& context, const WalkClaim& claim);

/// Reads what the program has said.
/// Errors  CommandError where the exercise is not started
WalkProof read_walks(const std::string& output);

std::string text_of(const WalkProof& proof);
std::string json_of(const WalkProof& proof, const std::string& exercise);

}  // namespace dist::cli
