#include "course/lab/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <unistd.h>

#include "course/algorithms/operations.hpp"
#include "course/algorithms/registry.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kMaxBytes = sizeof(float) * std::numeric_limits<int>::max();
// data, in a window, too, input and expected result, and what an algorithm takes on top
constexpr std::size_t kCopies = 6;

/// Ascending, each once.
template <class T>
void each_once(std::vector<T>& values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Sizes from the first to the last, each `factor` times the one before, in whole floats.
///
/// Errors  UsageError if the last is less than the first.
std::vector<std::size_t> sizes_between(std::size_t first, std::size_t last, double factor) {
    if (last < first) {
        throw UsageError(fmt::format(
            "--from {} --to {}: the largest size is less than the smallest", first, last
        ));
    }
    const double steps =
        std::log(static_cast<double>(last) / static_cast<double>(first)) / std::log(factor);
    std::vector<std::size_t> sizes;
    for (int i = 0; i <= static_cast<int>(steps + 1e-9); ++i) {
        const double bytes = static_cast<double>(first) * std::pow(factor, i);
        sizes.push_back(static_cast<std::size_t>(bytes / sizeof(float)) * sizeof(float));
    }
    return sizes;
}

}  // namespace

std::size_t parse_size(const std::string& text) {
    std::string bytes = text;
    std::string problem;
    try {
        const CLI::AsSizeValue to_bytes(false);  // K is 1024
        problem = to_bytes(bytes);
    } catch (const CLI::ValidationError& error) {
        problem = error.what();
    }
    if (!problem.empty() || text.starts_with('-')) {
        throw UsageError(
            fmt::format("\"{}\" is no size; write bytes, or use K, M, G: 64K,1M,85M", text)
        );
    }
    const std::size_t size = std::stoull(bytes);
    if (size == 0 || size % sizeof(float) != 0 || size > kMaxBytes) {
        throw UsageError(fmt::format(
            "size {} is {} bytes; it must be a multiple of 4 (the data are floats) from 4 to {}",
            text, size, kMaxBytes
        ));
    }
    return size;
}

namespace {

/// Sizes as they are asked for: a list, or the first and the last of a row.
struct Sizes {
    std::vector<std::string> list{"1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M", "85M"};
    std::string from;
    std::string to;
    double factor = 2.0;

    /// Errors  UsageError.
    [[nodiscard]] std::vector<std::size_t> in_bytes() const {
        if (!from.empty()) {
            return sizes_between(parse_size(from), parse_size(to), factor);
        }
        std::vector<std::size_t> bytes;
        std::ranges::transform(list, std::back_inserter(bytes), parse_size);
        return bytes;
    }
};

void add_what(CLI::App& app, Options& options, Sizes& sizes) {
    app.add_option("collective", options.collective, "What to measure: " + collectives_in_words())
        ->required();
    CLI::Option* const listed =
        app.add_option("--sizes", sizes.list, "Message sizes in bytes: 64K,1M,85M")
            ->delimiter(',')
            ->allow_extra_args(false);
    CLI::Option* const from =
        app.add_option("--from", sizes.from, "Smallest of a row of sizes, instead of --sizes")
            ->excludes(listed);
    from->needs(app.add_option("--to", sizes.to, "Largest of the row")->needs(from));
    app.add_option("--factor", sizes.factor, "Each size of the row is so many times the one before")
        ->capture_default_str()
        ->needs(from)
        ->check(CLI::Range(1.01, 1e6));
    app.add_option(
           "--algorithms", options.algorithms, "Which ones: naive,ring,mpi,... (default: all)"
    )
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option(
           "--ranks", options.ranks, "Measure on so many of the ranks, one after the other: 2,4,8"
    )
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->allow_extra_args(false);
    app.add_option(
           "--per-node", options.per_node,
           "Ranks of a node, for hierarchical: as if each so many were a machine (default: those "
           "of "
           "a machine, where there are several)"
    )
        ->check(CLI::PositiveNumber);
    app.add_option("--mine", options.mine, "Library with your own code, for the algorithm mine");
    app.add_option(
        "--over-tcp", options.over_tcp,
        "Library with the transport of chapter 04, for the algorithm tcp"
    );
    app.add_option("--seed", options.seed, "Seed of the data")->capture_default_str();
}

void add_effort(CLI::App& app, Options& options) {
    app.add_option("--budget", options.budget_s, "Seconds for each size and algorithm")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 3600.0));
    app.add_option(
           "--limit", options.limit_s,
           "Seconds for each size and algorithm at the most, where its times have not settled "
           "within the budget; 3, or 10 where ranks share cores"
    )
        ->check(CLI::Range(0.001, 3600.0));
    app.add_option("--warmup", options.warm_ups, "Calls before the first that counts")
        ->capture_default_str()
        ->check(CLI::Range(0, 1000000));
    app.add_option("--iterations", options.iterations, "Timed calls of each, instead of a budget")
        ->check(CLI::Range(1, 1000000));
}

void add_outputs(CLI::App& app, Options& options) {
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--csv", options.csv, "Write the table as CSV; - for standard output");
    app.add_option("--raw", options.raw, "Write every timed call, as CSV");
    app.add_option(
           "--format", options.format,
           "Print a narrow table: short; or as other benchmarks do: nccl (nccl-tests), osu"
    )
        ->check(CLI::IsMember({"short", "nccl", "osu"}));
    app.add_option(
        "--svg", options.svg,
        "Draw times, and ratios to naive, with gnuplot; a line for each of several --ranks"
    );
    app.add_option(
        "--html", options.html,
        "Write a page for a browser: curves to point at, algorithms to switch on and off"
    );
    app.add_option("--answer", options.to, "Write here what would go to standard output")
        ->group("");  // for the command: see bench.cpp
    app.add_flag("--progress", options.progress, "Show progress on standard error");
}

}  // namespace

Options parse_options(int argc, char** argv, std::string& help) {
    Options options;
    Sizes sizes;
    CLI::App app{
        "Measures every implementation of a collective side by side, in one run.", "bench"};
    app.footer(list_of_algorithms());
    add_what(app, options, sizes);
    std::string op = "sum";
    std::string type = "float";
    app.add_option("--op", op, "What a reduction does: sum, mean, product, min or max")
        ->capture_default_str();
    app.add_option("--dtype", type, "float: the course's kernels have no other")
        ->capture_default_str();
    add_effort(app, options);
    add_outputs(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        help = app.help();
        return options;
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    if (options.json && options.csv == "-") {
        throw UsageError("--json and --csv - both want standard output; give --csv a file");
    }
    if (!options.format.empty() && (options.json || options.csv == "-")) {
        throw UsageError("--format, --json and --csv - all want standard output; give --csv a file"
        );
    }
    if (type != "float") {
        throw UsageError(fmt::format(
            "--dtype {}: the algorithms of this course move and add float32, and have no kernel "
            "for others",
            type
        ));
    }
    try {
        options.op = find_operation(op);
    } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("--op: ") + error.what());
    }
    options.sizes_bytes = sizes.in_bytes();
    each_once(options.sizes_bytes);
    each_once(options.ranks);
    return options;
}

void check_ranks(const std::vector<int>& ranks, int there_are) {
    if (!ranks.empty() && ranks.back() > there_are) {
        throw UsageError(fmt::format(
            "--ranks {}: this job has {}; start it with mpirun -n {}", ranks.back(), there_are,
            ranks.back()
        ));
    }
}

void check_memory(const std::vector<std::size_t>& sizes_bytes, int ranks) {
    const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t largest = sizes_bytes.back();
    const std::size_t fits = memory / kCopies / static_cast<std::size_t>(ranks);
    if (largest > fits) {
        throw UsageError(fmt::format(
            "size {} does not fit: {} ranks on this machine's {} MiB can have {}M at most", largest,
            ranks, memory >> 20U, fits >> 20U
        ));
    }
}

}  // namespace dist::lab
