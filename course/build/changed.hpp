// The source of an answer that a list has as a change of another one: see cases.hpp.
#pragma once

#include <filesystem>

#include "course/process/context.hpp"

namespace dist::cli {

/// The source that is compiled for `answer`: the file itself or, for LIST.toml:NAME, the one that make_source() writes. Absolute.
/// Errors  UsageError where the list has no such name
std::filesystem::path source_of(const Context& context, const std::filesystem::path& answer);

/// Writes the changed base of LIST.toml:NAME; a file stays as it is. Returns source_of().
/// Errors  UsageError that names the list's line and the base where this is not there, or does not contain the lines to be changed
///         exactly once.
std::filesystem::path make_source(const Context& context, const std::filesystem::path& answer);

}  // namespace dist::cli
