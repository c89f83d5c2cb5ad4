// What a compiler or linker that failed has said, made a result.
#pragma once

#include <filesystem>
#include <string>

#include "course/build/build.hpp"

namespace dist::cli {

/// A full disk is no error in anybody's file.
/// Errors  CommandError where `log` tells of one
void refuse_full_disk(const Context& context, const std::string& log);

/// The first error of `log`, for who wrote `file`.
/// Errors  as refuse_full_disk
Built failed(
    const Context& context,
    const Program& program,
    const std::filesystem::path& file,
    const std::string& log
);

}  // namespace dist::cli
