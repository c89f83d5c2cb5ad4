// What an exercise is before anyone has worked on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// The newest committed version that still is a stub: students commit their own work, too. None
/// without git, or without a clone.
std::optional<std::string> committed_stub(const Context& context, const Exercise& exercise);

/// The stub as it is handed out: the exercise's file while nobody has worked on it, else the committed one; empty without either.
std::string given_stub(const Context& context, const Exercise& exercise);

/// How often `word` stands in `text`.
std::size_t occurrences(std::string_view text, std::string_view word);

/// Whether the student's file is as it came: it says NotImplemented and nothing else. True only where
/// a run would find the same.
bool is_untouched(const Context& context, const Exercise& exercise);

}  // namespace dist::cli
