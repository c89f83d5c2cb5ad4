// A program that is written as a difference against another one: most wrong answers are a few lines
// away from the right one.
//
//     Every rank passes its whole tensor around the ring.
//     state: fail
//     says: never the whole tensor
//     --- solutions/03_ring_and_tree/ring_all_reduce.cpp
//     +++ whole_tensor.cpp
//     @@ -12,2 +12,1 @@
//     ...
//
// Above the difference stands what the file is for; `diff -U1` makes the rest. The base is any source
// of the repository.
#pragma once

#include <filesystem>

#include "course/process/context.hpp"

namespace dist::cli {

/// Whether the file is such a difference: NAME.diff.
bool is_difference(const std::filesystem::path& file);

/// The source that is compiled for `file`: the file itself or, for a difference, the one that
/// make_source() writes. Absolute.
std::filesystem::path source_of(const Context& context, const std::filesystem::path& file);

/// Applies a difference to its base; any other file stays as it is. Returns source_of().
/// Errors  UsageError that names both files, when the base has changed too much, or is not there, or has the lines to
///         be changed several times, and none where the difference says.
std::filesystem::path make_source(const Context& context, const std::filesystem::path& file);

}  // namespace dist::cli
