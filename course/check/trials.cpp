#include "course/check/trials.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <sstream>
#include <utility>

#include "course/build/difference.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/together.hpp"
#include "course/process/error.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTogether = 12;

/// Whether it is to share a job with others.
bool is_together(const Built& built) {
    return built.ok && !built.library.empty();
}

LaunchOptions options_for(const Series& series, const Trial& trial, const HowToRun& how, int seed) {
    LaunchOptions options;
    options.ranks = how.ranks;
    options.delays = how.delays;
    options.seed = how.first_seed + static_cast<std::uint64_t>(seed) - 1;
    if (series.exercise != nullptr && trial.is_wrong() && !how.all_tests) {
        options.enough = [&](const Result& result) {
            return wrong_with(trial, result, report(result, series.exercise, false)).empty();
        };
        options.test = trial.expected.test;
    }
    return options;
}

Tried run_alone(
    Context& context,
    const Series& series,
    const Trial& trial,
    const Built& built,
    const HowToRun& how
) {
    Tried tried;
    if (!built.ok && built.log.empty()) {
        tried.error = built.error;
        return tried;
    }
    for (int seed = 1; seed <= trial.seeds; ++seed) {
        try {
            tried.results.push_back(run_built(
                context, series.program, built, options_for(series, trial, how, seed),
                context.root / trial.expected.file
            ));
        } catch (const UsageError& error) {  // no test has that name
            tried.error = error.what();
        }
    }
    return tried;
}

/// Runs those that share a job. What has no result afterwards has not shown its expected state.
void run_together(
    Context& context,
    const Series& series,
    const BuiltSeries& built,
    const std::vector<std::size_t>& trials,
    const HowToRun& how,
    std::vector<Tried>& tried
) {
    std::vector<std::size_t> places;
    std::vector<Together> answers;
    for (const std::size_t t : trials) {
        const Built& one = built.built[t];
        const LaunchOptions options = options_for(series, series.trials[t], how, 1);
        const std::filesystem::path as = context.root / series.trials[t].expected.file;
        if (auto result = objected(context, series.program, one, options, as)) {
            tried[t].results.push_back(std::move(*result));
        } else {
            answers.push_back({as, one.library, options});
            places.push_back(t);
        }
    }
    if (answers.empty()) {
        return;
    }
    std::vector<std::optional<Result>> results = launch_together(context, series.program, answers);
    for (std::size_t a = 0; a < results.size(); ++a) {
        if (results[a]) {
            tried[places[a]].results.push_back(std::move(*results[a]));
        }
    }
}

}  // namespace

bool right_in_part(const Result& result) {
    return result.partial && result.status == State::skipped && result.passed() > 0;
}

std::string wrong_with(const Trial& trial, const Result& result, const std::string& text) {
    const bool right = trial.expected.state == State::pass && right_in_part(result);
    if (result.status != trial.expected.state && !right) {
        return fmt::format("is {}, not {}", name_of(result.status), name_of(trial.expected.state));
    }
    for (const std::string& words : trial.expected.says) {
        if (text.find(words) == std::string::npos) {
            return fmt::format("its report does not say '{}'", words);
        }
    }
    return "";
}

Basis basis_of(
    const Context& context, const Recipe& recipe, const Trial& trial, const HowToRun& how
) {
    const fs::path folder = context.build_folder();
    Basis basis;
    basis.trial = fmt::format("{} {}", recipe.program.target(), trial.what);
    basis.how = fmt::format(
        "{}\n{}\n{} {} {} {} {} {} {} {} {}", recipe.compile, recipe.link, recipe.program.ranks,
        recipe.program.files, recipe.program.sockets, trial.seeds, how.first_seed, how.ranks,
        how.delays, how.all_tests, name_of(trial.expected.state)
    );
    basis.how += trial.expected.test + fmt::format("{}", fmt::join(trial.expected.says, "\n"));
    for (const char* const name : {"ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "LD_LIBRARY_PATH"}) {
        const char* const value = std::getenv(name);
        basis.how += value == nullptr ? "\n" : std::string("\n") + value;
    }
    basis.files = {
        make_source(context, context.root / trial.expected.file),
        fs::read_symlink("/proc/self/exe"), folder / "tests/rank_proxy", "/usr/bin/mpirun"};
    for (const fs::path& other : recipe.others) {
        basis.files.push_back(folder / other);
    }
    std::istringstream words(recipe.compile + " " + recipe.link);
    for (std::string word; words >> word;) {
        if (word.starts_with("/") &&
            (word.ends_with("c++") || word.find(".so") != std::string::npos)) {
            basis.files.emplace_back(word);
        }
    }
    return basis;
}

std::vector<std::vector<std::size_t>> jobs_of(const Series& series, const BuiltSeries& built) {
    std::vector<std::vector<std::size_t>> jobs;
    std::vector<std::size_t> together;
    for (std::size_t t = 0; t < series.trials.size(); ++t) {
        if (built.unchanged[t]) {
            continue;
        }
        if (is_together(built.built[t])) {
            together.push_back(t);
        } else {
            jobs.push_back({t});
        }
    }
    const std::size_t parts = (together.size() + kMostTogether - 1) / kMostTogether;
    for (std::size_t part = 0; part < parts; ++part) {
        const auto at = [&](std::size_t i) {
            return together.begin() + static_cast<std::ptrdiff_t>(together.size() * i / parts);
        };
        jobs.emplace_back(at(part), at(part + 1));
    }
    return jobs;
}

void run_trials(
    Context& context,
    const Series& series,
    const BuiltSeries& built,
    const std::vector<std::size_t>& trials,
    const HowToRun& how,
    std::vector<Tried>& tried
) {
    const auto shares = [&](std::size_t t) { return is_together(built.built[t]); };
    if (shares(trials.front())) {
        run_together(context, series, built, trials, how, tried);
    }
    for (const std::size_t t : trials) {
        if (tried[t].results.empty()) {
            const Built program =
                shares(t) ? link_program(context, built.recipe, built.built[t]) : built.built[t];
            tried[t] = run_alone(context, series, series.trials[t], program, how);
        }
    }
}

}  // namespace dist::cli
