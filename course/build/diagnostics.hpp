// What a compiler or linker said, cut to what somebody can act on.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dist::cli {

/// The first error in a build's output as a short text, and how many more there are.
///
/// root    the repository: cut from paths.
/// file    the file under test, relative to root where it lies inside: what a link error is blamed
/// on. header  text of its specification, to tell a function that the exercise asks for from
/// another.
std::string first_error(
    std::string_view log,
    const std::filesystem::path& root,
    const std::string& file,
    std::string_view header = {}
);

/// Whether a line is one of source as the compiler quotes it, "   12 |     return 1;", or the marks under it.
bool is_excerpt(const std::string& line);

/// A linker's spelling of a signature as people write it: "ring_shift(std::span<const float>)".
std::string readable_signature(std::string symbol);

}  // namespace dist::cli
