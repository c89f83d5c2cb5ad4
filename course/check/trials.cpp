#include "course/check/trials.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <sstream>
#include <utility>

#include "course/build/changed.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/shared_job.hpp"
#include "course/process/error.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

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

Tried run_with(
    Context& context,
    const Series& series,
    const Trial& trial,
    const Built& built,
    const HowToRun& how,
    SharedJobs* jobs
) {
    Tried tried;
    if (!built.ok && built.log.empty()) {
        tried.error = built.error;
        return tried;
    }
    for (int seed = 1; seed <= trial.seeds; ++seed) {
        LaunchOptions options = options_for(series, trial, how, seed);
        options.jobs = jobs;
        options.rest_limit_s = series.exercise != nullptr && trial.is_wrong() ? kRestS : 0;
        try {
            tried.results.push_back(run_built(
                context, series.program, built, options, context.root / trial.expected.file
            ));
        } catch (const UsageError& error) {  // no test has that name
            tried.error = error.what();
        }
    }
    return tried;
}

}  // namespace

bool right_in_part(const Result& result) {
    return result.partial && result.status == State::skipped && result.passed() > 0;
}

std::string wrong_with(const Trial& trial, const Result& result, const std::string& text) {
    const bool right = trial.expected.state == State::pass && right_in_part(result);
    if (!trial.expected.expects(result.status) && !right) {
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

Tried run_trial(
    Context& context,
    const Series& series,
    const BuiltSeries& built,
    std::size_t t,
    const HowToRun& how,
    SharedJobs& jobs
) {
    const Trial& trial = series.trials[t];
    const Built& answer = built.built[t];
    if (!answer.ok || answer.library.empty()) {
        return run_with(context, series, trial, answer, how, nullptr);
    }
    Tried tried = run_with(context, series, trial, answer, how, &jobs);
    const bool expected = std::ranges::all_of(tried.results, [&](const Result& result) {
        return wrong_with(trial, result, report(result, series.exercise, false)).empty();
    });
    if (expected && !tried.results.empty()) {
        return tried;
    }
    const Built program = link_program(context, built.recipe, answer);
    return run_with(context, series, trial, program, how, nullptr);
}

}  // namespace dist::cli
