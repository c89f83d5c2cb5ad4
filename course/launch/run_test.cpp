#include "course/launch/run_test.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <optional>

#include "course/build/setup.hpp"
#include "course/launch/gpu.hpp"
#include "course/launch/plan.hpp"
#include "course/launch/shared_job.hpp"
#include "course/launch/start.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {

namespace {

/// Whether a job that others use cannot tell: the answer ended it, or its own processes before they came to their tests.
bool says_nothing(const Result& result) {
    return std::ranges::any_of(result.tests, [](const TestResult& test) {
        return !test.planned && test.status != State::forbidden;
    });
}

/// Starts the jobs that a run with these options needs, where they do not wait already.
void warm(const Context& context, const Program& program, const LaunchOptions& options) {
    options.jobs->warm(program, ranks_of(program, options));
    LaunchOptions on_many;
    on_many.many = true;
    if (options.ranks == 0 && options.test.empty() &&
        !plan_of(tests_in(context.root / test_file_of(program)), on_many, "").empty()) {
        options.jobs->warm(program, ranks_of(program, on_many));
    }
}

/// What is built for the answer `file` beside its test's parts.
std::vector<std::string> parts_of(
    const Context& context, const Program& program, const std::filesystem::path& file
) {
    std::vector<std::string> parts = references_named(context, program, text_of(context, file));
    parts.push_back(host_of(context, program));
    return parts;
}

/// Compiles it while jobs for it are started, looks at it while it is linked as a library, and tries it in one of them.
Result run_shared(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    if (!as.empty()) {
        expect_file(as);
    }
    const std::filesystem::path file = as.empty() ? context.root / program.source : as;
    const Recipe recipe = prepare(context, program, parts_of(context, program, file));
    std::future<void> starting =
        std::async(std::launch::async, [&] { warm(context, program, options); });
    const Built compiled = compile_as(context, recipe, file);
    starting.get();
    std::future<Built> linking =
        std::async(std::launch::async, [&] { return link_library(context, recipe, compiled); });
    if (auto result = objected(context, program, compiled, options, as)) {
        return *std::move(result);
    }
    Built built = linking.get();
    context.spend("build", built.compile_s);
    context.spend("link", built.link_s);
    if (built.ok) {
        Result result = launch(context, program, built.library, as, options);
        if (!says_nothing(result)) {
            return result;
        }
    }
    LaunchOptions alone = options;
    alone.jobs = nullptr;
    built = link_program(context, recipe, compiled);  // what is no library may be a program
    return run_built(context, program, built, alone, as);
}

}  // namespace

LaunchOptions options_of_a_student(SharedJobs& jobs) {
    LaunchOptions options;
    options.jobs = &jobs;
    options.rest_limit_s = kRestS;
    return options;
}

Result refused(Result result, const std::vector<Objection>& objections) {
    result.status = State::forbidden;
    TestResult& test = result.tests.emplace_back();
    test.name = "the file keeps to what answers may use";
    test.planned = false;
    test.status = State::forbidden;
    for (const Objection& objection : objections) {
        test.message += fmt::format(
            "{}{} {}", test.message.empty() ? "" : "\n",
            objection.where.empty() ? "it" : objection.where, objection.sentence
        );
    }
    std::vector<std::string> words = {"./shardlings", "run", result.exercise};
    if (!result.as.empty()) {
        words.insert(words.end(), {"--as", result.as});
    }
    test.repro = shell_line(words);
    return result;
}

Result run_test(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    if (const std::string reason = program.for_gpu() ? gpu_code_missing(context) : "";
        !reason.empty()) {
        return skipped(program, reason, options, as);
    }
    if (options.jobs != nullptr && !host_of(context, program).empty()) {
        return run_shared(context, program, options, as);
    }
    LaunchOptions alone = options;
    alone.jobs = nullptr;
    return run_built(context, program, build_test(context, program, as), alone, as);
}

std::optional<Result> objected(
    Context& context,
    const Program& program,
    const Built& built,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    if (!program.looked_at || built.object.empty()) {
        return std::nullopt;
    }
    const std::vector<Objection> found = objections(context, program, built, options.strictness);
    return found.empty() ? std::nullopt
                         : std::optional(refused(result_of(program, options, as), found));
}

Result run_built(
    Context& context,
    const Program& program,
    const Built& built,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    if (std::optional<Result> result = objected(context, program, built, options, as)) {
        return std::move(*result);
    }
    if (built.ok) {
        LaunchOptions how = options;
        how.jobs = built.library.empty() ? nullptr : options.jobs;
        return launch(
            context, program, how.jobs != nullptr ? built.library : built.executable, as, how
        );
    }
    Result result = result_of(program, options, as);
    result.status = State::build_error;
    result.message = built.error;
    result.build_log = built.log;
    return result;
}

Result skipped(
    const Program& program,
    const std::string& reason,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    Result result = result_of(program, options, as);
    result.status = State::skipped;
    result.message = reason;
    return result;
}

Result not_started(const Context& context, const Exercise& exercise, const LaunchOptions& options) {
    Result result = result_of(program_of(exercise), options, {});
    result.status = State::not_started;
    for (const PlannedTest& planned : tests_in(context.root / exercise.test())) {
        TestResult test;
        test.name = planned.name;
        test.ranks = exercise.ranks;
        test.status = State::not_started;
        test.message = exercise.name + " is not implemented yet";
        test.repro = shell_line({"./shardlings", "run", exercise.name, "--test", test.name});
        result.tests.push_back(test);
    }
    return result;
}

void get_ready(Context& context, const Exercise& exercise, SharedJobs& jobs) {
    const Program program = program_of(exercise);
    if (!host_of(context, program).empty() && is_installed(context, program.kind())) {
        prepare(context, program, parts_of(context, program, context.root / program.source));
        warm(context, program, options_of_a_student(jobs));
    }
}

Result run_own(Context& context, const Exercise& exercise, const LaunchOptions& options) {
    const bool whole = options.test.empty() && options.ranks == 0;
    if (whole && !exercise.for_gpu() && is_untouched(context, exercise)) {
        return not_started(context, exercise, options);
    }
    return run_anywhere(context, program_of(exercise), options);
}

Result run_anywhere(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    Result result = run_test(context, program, options, as);
    if (program.for_gpu() && result.status == State::skipped && !result.tests.empty()) {
        result.stand_in.push_back(run_test(context, on_stand_in(program), options, as));
    }
    return result;
}

Result run_on_stand_in(
    Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    if (!program.for_gpu()) {
        throw UsageError(program.name + " needs no stand-in: it runs without a GPU");
    }
    Result result = run_test(context, on_stand_in(program), options, as);
    if (result.status == State::pass) {
        result.status = State::skipped;
        result.message = "right on the host's stand-in for CUDA and NCCL; there is no GPU in it";
    }
    return result;
}

}  // namespace dist::cli
