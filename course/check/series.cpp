#include "course/check/series.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <set>

#include "course/launch/gpu.hpp"
#include "course/launch/shared_job.hpp"
#include "course/manifest/check_files.hpp"
#include "course/process/error.hpp"
#include "course/process/workers.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

fs::path write_stub(const Context& context, const Exercise& exercise) {
    fs::path file = context.build_folder() / "check" / (exercise.name + "_stub.cpp");
    fs::create_directories(file.parent_path());
    std::ofstream(file) << stub_text(context, exercise);
    return file;
}

void add(std::vector<Trial>& trials, const std::string& kind, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        trials.push_back({one, kind + " " + one.name, 1});
    }
}

/// A change that no longer applies is a trial that failed, and the others can still be tried.
Built build_trial(Context& context, const Recipe& recipe, const Trial& trial, bool shared) {
    try {
        Built built = compile_as(context, recipe, context.root / trial.expected.file);
        if (shared) {
            built = link_library(context, recipe, built);
        }
        if (!built.ok) {  // what cannot be such a library may be a program
            built = link_program(context, recipe, built);
        }
        context.spend("compile", built.compile_s);
        context.spend("link", built.link_s);
        return built;
    } catch (const UsageError& error) {
        Built built;
        built.error = error.what();
        return built;
    }
}

void build_all(
    Context& context, const Series& series, const Unchanged& unchanged, BuiltSeries& result
) {
    const Recipe& recipe = result.recipe;
    result.built.resize(series.trials.size());
    result.unchanged.resize(series.trials.size());
    const auto build_one = [&](std::size_t t) {
        const Trial& trial = series.trials[t];
        result.unchanged[t] = static_cast<char>(unchanged(recipe, trial));
        if (result.unchanged[t] != 0) {
            return;
        }
        result.built[t] = build_trial(context, recipe, trial, !series.host.empty());
    };
    on_threads(busy_threads(), series.trials.size(), build_one, [](std::size_t) {});
}

/// Of cases that are numbered from `place` on. Returns the number that comes after them.
int keep_share(std::vector<Case>& cases, const Share& share, int place) {
    std::erase_if(cases, [&](const Case&) { return !share.has(place++); });
    return place;
}

}  // namespace

Share share_named(const std::string& text) {
    Share share;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d/%d%c", &share.which, &share.of, &rest) != 2 ||
        share.which < 1 || share.which > share.of) {
        throw UsageError(
            fmt::format("--share {}: it is written as 2/3, for the second of three", text)
        );
    }
    return share;
}

std::vector<Series> series_of(
    Context& context, const Exercise& exercise, const SeriesOptions& options
) {
    Series series;
    series.program = program_of(exercise);
    series.exercise = &exercise;
    series.missing = missing_parts(context, exercise);
    if (options.stubs) {
        series.trials.push_back(
            {{write_stub(context, exercise), State::not_started, "", {}}, "stub", 1}
        );
    }
    series.trials.push_back({{exercise.solution(), State::pass, "", {}}, "solution", options.seeds}
    );
    std::vector<Case> mutants = read_cases(context, exercise.mutants());
    const State right = State::pass;
    std::vector<Case> alternatives = read_cases(context, exercise.alternatives(), &right);
    const std::size_t all = mutants.size() + alternatives.size();
    if (options.mutants) {
        keep_share(alternatives, options.share, keep_share(mutants, options.share, 0));
        add(series.trials, "mutant", mutants);
        add(series.trials, "alternative", alternatives);
        series.left_out = all - mutants.size() - alternatives.size();
    } else {
        series.left_out = all;
    }
    if (!exercise.for_gpu()) {
        series.host = options.alone ? "" : host_of(context, series.program);
        return {series};
    }
    if (const std::string reason = gpu_code_missing(context); !reason.empty()) {
        series.not_here = reason;
        return {series};
    }
    // on a GPU what is right; what is wrong may take its driver down, and has been refused already
    Series on_gpu = series;
    on_gpu.missing.clear();
    on_gpu.left_out = 0;
    std::erase_if(on_gpu.trials, [](const Trial& trial) {
        return trial.what.starts_with("mutant");
    });
    series.program = on_stand_in(series.program);
    return {series, on_gpu};
}

Series series_of(const Context& context, const SelfTest& self_test, const SeriesOptions& options) {
    Series series;
    series.program = program_of(self_test);
    series.host = options.alone ? "" : host_of(context, series.program);
    add(series.trials, "case", read_cases(context, self_test.cases));
    return series;
}

void build_ahead(Context& context, std::span<const Series> next) {
    std::vector<std::string> targets;
    for (const Series& series : next) {
        if (series.not_here.empty()) {
            targets.push_back(series.program.target() + "_parts");
        }
    }
    if (targets.empty()) {
        return;
    }
    try {
        build_targets(context, targets);
    } catch (const Interrupted&) {
        throw;
    } catch (const CommandError&) {  // told by build(), of the series that it is about
    }
}

BuiltSeries build(Context& context, const Series& series, const Unchanged& unchanged) {
    const auto begin = std::chrono::steady_clock::now();
    BuiltSeries result;
    if (!series.not_here.empty()) {
        return result;
    }
    try {
        std::set<std::string> answers;
        for (const Trial& trial : series.trials) {
            answers.insert(text_of(context, context.root / trial.expected.file));
        }
        const std::string text = fmt::format("{}", fmt::join(answers, "\n"));
        result.recipe =
            prepare(context, series.program, references_named(context, series.program, text));
        if (!series.host.empty()) {
            build_targets(context, {series.host});
        }
        build_all(context, series, unchanged, result);
    } catch (const UsageError& error) {
        result.error = error.what();
        result.skipped = true;
    } catch (const Interrupted&) {
        throw;
    } catch (const CommandError& error) {
        result.error = error.what();
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace dist::cli
