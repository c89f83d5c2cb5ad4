// The bench's results as a table, as JSON and as CSV.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/lab/bound.hpp"
#include "course/lab/choice.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/statistics.hpp"

namespace dist::lab {

/// All calls at one size.
struct RawCalls {
    std::size_t size_bytes = 0;
    std::vector<std::string> algorithms;
    std::vector<Block> blocks;
};

/// Everything that one run of the bench found out.
struct Measured {
    Collective collective;
    std::vector<Algorithm> algorithms;
    Machine machine;
    std::uint64_t seed = 0;
    ReduceOp op = ReduceOp::sum;
    std::vector<std::string> notes;  // what was left out, and why
    LowerBound bound;
    std::vector<Choice> choices;  // of `auto`, by size
    std::vector<Point> points;    // by size, then in the order of the algorithms
    std::vector<RawCalls> raw;    // empty unless it is wanted
};

/// The operation as nccl-tests names it: "sum", "prod", "avg", ..., or "none" where nothing is combined.
std::string redop(const Measured& measured);

/// The sizes that were measured.
std::set<std::size_t> sizes_of(const Measured& measured);

/// The sizes that were measured on each number of ranks.
std::set<std::size_t> common_sizes(const std::vector<Measured>& measurements);

/// A point and what follows from it.
struct Row {
    Point point;
    double algbw_gbs = 0.0;            // 10^9 bytes a second: size over time
    double busbw_gbs = 0.0;            // what each link carried of it, by nccl-tests' factor
    double bound_s = 0.0;              // at the best rates seen in the run, its own calls included
    std::optional<double> efficiency;  // bound over time: at most 1
};

/// The bound at the best rates seen in this run, those of its fastest calls included.
LowerBound learned_bound(const Measured& measured);

std::vector<Row> rows(const Measured& measured);

/// "16 MiB, not settled: naive, ring: ...", a line for the points of a size whose times are not to be trusted for
/// the same reason.
std::vector<std::string> unsettled_in_words(const Measured& measured);

/// For each algorithm, in order, the line through its medians.
std::vector<std::pair<std::string, Fit>> fits(const Measured& measured);

/// What to tell of those numbers of ranks that have to share cores; empty where none has.
std::string note_if_shared(const std::vector<Measured>& measurements);

/// The table for people: lines with # say how it was made.
std::string to_table(const Measured& measured);

/// The tables of several numbers of ranks, and at which of them the ring passes naive.
std::string to_table(const std::vector<Measured>& measurements);

/// A narrow one: size, algorithm, time and ratios, and what follows from them.
std::string to_short_table(const std::vector<Measured>& measurements);

/// Those of one number of ranks are a document; several are one with all of these in `runs`.
std::string to_json(const std::vector<Measured>& measurements);

std::string to_csv(const std::vector<Measured>& measurements);

}  // namespace dist::lab
