#include "course/cli/gpu.hpp"

#include <fmt/format.h>

#include "course/cli/error.hpp"
#include "course/cli/run.hpp"
#include "course/cli/setup.hpp"

namespace dist::cli {

std::string gpu_code_missing(Context& context) {
    if (!std::filesystem::exists(context.build_folder() / "build.ninja")) {
        configure(context);
    }
    const std::string reason = cached_value(context, "SHARDLINGS_GPU_MISSING");
    return reason.empty() ? ""
                          : fmt::format(
                                "needs the CUDA toolkit and NCCL: {}. Once that has changed: cmake "
                                "--preset {}",
                                reason, context.preset
                            );
}

Program on_stand_in(Program program) {
    program.on_stand_in = true;
    return program;
}

Result skipped(
    const Program& program,
    const std::string& reason,
    const LaunchOptions& options,
    const std::filesystem::path& as
) {
    Result result;
    result.exercise = program.name;
    result.source = as.empty() ? program.source.string() : as.string();
    result.as = as.string();
    result.status = State::skipped;
    result.seed = options.seed;
    result.started_at = utc_now();
    result.message = reason;
    return result;
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
