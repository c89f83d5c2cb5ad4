#include "course/launch/run_test.hpp"

#include <fmt/format.h>

#include "course/launch/gpu.hpp"
#include "course/launch/plan.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {

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
    const Built built = build_test(context, program, as);
    return run_built(context, program, built, options, as);
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
        return launch(context, program, built.executable, as, options);
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
