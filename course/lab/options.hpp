// The bench's command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/runtime/reduce_op.hpp"

namespace dist::lab {

struct Options {
    std::string collective;
    std::vector<std::size_t> sizes_bytes;  // ascending, each once, multiples of 4
    std::vector<std::string> algorithms;   // empty: all
    std::vector<int> ranks;                // ascending, each once; empty: all there are
    int per_node = 0;                      // ranks of a node; 0: those of a machine
    std::string mine;                      // the student's library; empty: none
    std::string over_tcp;                  // path of the library for the algorithm tcp; empty: none
    double budget_s = 0.5;                 // for each size and algorithm
    std::optional<double> limit_s;         // at most, where the times have not settled by then
    int iterations = 0;                    // exactly so many instead; 0: what the budget allows
    int warm_ups = 2;
    std::uint64_t seed = 1;
    ReduceOp op = ReduceOp::sum;
    bool json = false;  // one document on standard output, nothing else there
    std::string csv;    // file, or "-" for standard output
    std::string svg;
    std::string html;
    std::string raw;        // file for every timed call
    std::string format;     // "short", "nccl" or "osu"; empty: the bench's own table
    std::string to;         // file for what goes to standard output; empty: there
    bool progress = false;  // also when standard error is no terminal, as under mpirun
};

/// A command line that cannot be used; the text is one line that says what can.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads "64K": bytes, with K, M or G for powers of 1024, as in nccl-tests.
///
/// Errors  UsageError if it is no size, 0, no multiple of 4, or more than 2^31 - 1 floats.
std::size_t parse_size(const std::string& text);

/// Reads the command line.
///
/// help    out: the text for --help when that was asked for; then the options mean nothing.
///
/// Errors  UsageError.
Options parse_options(int argc, char** argv, std::string& help);

/// Refuses numbers of ranks that this job does not have.
///
/// Errors  UsageError.
void check_ranks(const std::vector<int>& ranks, int there_are);

/// Refuses sizes whose buffers do not fit into this machine's memory.
///
/// ranks   on this machine.
///
/// Errors  UsageError.
void check_memory(const std::vector<std::size_t>& sizes_bytes, int ranks);

}  // namespace dist::lab
