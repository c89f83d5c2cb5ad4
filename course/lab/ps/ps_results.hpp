// What bench ps is asked, and what it answers. Without LibTorch, whose newer versions bring an fmt of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dist::lab {

struct PsOptions {
    std::string model = "small";
    std::int64_t batch = 16;  // of each worker
    int steps = 40;           // of each worker, in each round
    int rounds = 3;
    int servers = 1;
    std::vector<std::int64_t> staleness = {0, 2};
    double stall_ms = 40;  // in each step one worker, drawn by the seed, stands still so long
    double rate = 0.005;
    std::uint64_t seed = 1;
    std::string svg;
    bool json = false;
    bool progress = false;
    std::string to;
};

/// A step of a worker, seconds after all have begun.
struct PsStep {
    double end_s = 0;
    double loss = 0;
};

/// One run: all steps of all workers.
struct PsRun {
    std::vector<std::vector<PsStep>> workers;
    double busiest_bytes = 0;  // that the rank which sends most sends for a step

    [[nodiscard]] double seconds() const;  // until the last worker has ended
};

/// A way, with stalls or without: its runs, one a round.
struct PsResult {
    std::string name;  // "ddp", "ps", "ps, 2 steps old"
    bool stalls = false;
    double formula_bytes = 0;
    std::vector<PsRun> runs = {};
};

struct PsReport {
    int workers = 1;
    std::size_t parameters = 0;
    std::vector<PsResult> results;
};

/// help  gets the text, if it is asked for.
///
/// Errors  UsageError, with one line.
PsOptions parse_ps_bench(int argc, char** argv, std::string& help);

/// A table, or with --json a document.
std::string to_text(const PsOptions& options, const PsReport& report);

/// gnuplot's script: loss over time and over examples, with stalls and without.
std::string gnuplot_script(const PsOptions& options, const PsReport& report);

}  // namespace dist::lab
