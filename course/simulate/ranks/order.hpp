// What `simulate` asks of the program that it starts on the simulated cluster, and what that says: JSON on the command
// line, and one line of JSON on standard output for each call that was timed.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dist::simulation {

struct Order {
    std::string collective;               // empty: that of `mine`
    std::vector<std::string> algorithms;  // rows of course/algorithms/registry.hpp; empty: all
    std::string mine;                     // an exercise: its rows alone, under the name mine
    std::vector<std::size_t> sizes_bytes;
    std::vector<int> formula_ranks;  // not empty: only say what the formulas give for these
    // of a message, for the model; 0 and 0 where they are not known
    double alpha_s = 0;
    double beta_s_per_byte = 0;
    double gamma_s_per_byte = 0;
    // of a node, and of a message inside of it; 0: ranks have no nodes
    int per_node = 0;
    double inside_alpha_s = 0;
    double inside_beta_s_per_byte = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    Order,
    collective,
    algorithms,
    mine,
    sizes_bytes,
    formula_ranks,
    alpha_s,
    beta_s_per_byte,
    gamma_s_per_byte,
    per_node,
    inside_alpha_s,
    inside_beta_s_per_byte
)

struct Timed {
    std::string collective;
    std::string algorithm;
    int ranks = 0;
    std::size_t size_bytes = 0;
    double seconds = 0;   // on the simulated clock, of the slowest rank
    double model_s = -1;  // the formula; -1 where there is none
    long messages = -1;   // that all ranks sent; -1 where a library sends them
    long bytes = -1;
    long crossing = -1;     // of these, from one node to another; -1 where ranks have no nodes
    double bus_factor = 0;  // bytes that the busiest rank must send, over the size
    long wrong = -1;        // elements of a short trial; -1 where that was left out
    std::string wrong_op;   // "mean": the operation of these elements
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(
    Timed,
    collective,
    algorithm,
    ranks,
    size_bytes,
    seconds,
    model_s,
    messages,
    bytes,
    crossing,
    bus_factor,
    wrong,
    wrong_op
)

/// Lines of `Timed` begin so: what the code under simulation prints does not.
inline constexpr const char* kTimedMark = "@simulated ";

/// So does the line of what ended it: an exception that left the code under simulation, ...
inline constexpr const char* kThrownMark = "@thrown ";

/// ... or a name in the order that does not exist.
inline constexpr const char* kRefusedMark = "@refused ";

}  // namespace dist::simulation
