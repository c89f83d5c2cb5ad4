#include "course/launch/gpu.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "course/build/setup.hpp"

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

}  // namespace dist::cli
