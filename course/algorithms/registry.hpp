// What the bench can measure: one row for each collective, one for each way to do it. A new
// algorithm is one row in registry.cpp; help, legend and checks take it from there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "course/algorithms/calls.hpp"
#include "course/algorithms/models.hpp"

namespace dist::lab {

/// A collective: what its result is, and what it costs at the least.
struct Collective {
    std::string_view name;
    std::string_view redop;  // as nccl-tests prints it: "sum", or "none"

    /// Bytes that the busiest rank must send, over the size: busbw = algbw * bus_factor(p).
    double (*bus_factor)(int p);

    /// Bytes that the busiest rank's core must go through, over the size: of messages, each of which is copied once, by
    /// its receiver; and at all, if ranks may read each other's memory.
    double (*received)(int p);
    double (*touched)(int p);

    /// What rank r of p must end with: see expected.hpp.
    void (*expect)(std::span<float> out, int p, int r, std::uint64_t seed);

    /// False of a barrier: a size says nothing of it.
    [[nodiscard]] bool moves_data() const { return bus_factor(2) > 0; }
};

/// What an algorithm is made of: that decides what it takes at the least.
enum class Means { messages, shared_memory, library };

/// One way to do a collective.
struct Algorithm {
    std::string_view collective;
    std::string_view name;
    std::string_view what;  // for the table's header
    Run run;                // nullptr for `mine`, `tcp` and `gloo` until they are loaded
    Means means = Means::messages;
    std::string_view exercise = {};    // whose answer does it; of two, the one that reduces
    Model model_s = nullptr;           // its time, where the course has a formula
    NodeModel node_model_s = nullptr;  // the same on nodes

    /// It runs only where Call::nodes is set.
    [[nodiscard]] bool needs_nodes() const { return model_s == nullptr && node_model_s != nullptr; }
};

/// The collective of that name.
///
/// Errors  std::invalid_argument, naming what exists.
const Collective& find_collective(std::string_view name);

/// The algorithms of those names, in that order, each once; all that exist if `names` is empty.
///
/// Errors  std::invalid_argument, naming what exists.
std::vector<Algorithm> find_algorithms(
    const Collective& collective, const std::vector<std::string>& names
);

/// What this exercise's answer does, in all collectives.
///
/// Errors  std::invalid_argument if it is none of these, naming those that are.
std::vector<Algorithm> algorithms_of_exercise(std::string_view exercise);

/// What `auto` chooses from: in the order of AllReduceAlgorithm, and behind them what needs nodes, where there are some.
std::vector<Algorithm> candidates_of_auto(bool on_nodes);

/// The names of the collectives: "all_reduce, broadcast, ...".
std::string collectives_in_words();

/// For help: one line for each algorithm of each collective.
std::string list_of_algorithms();

}  // namespace dist::lab
