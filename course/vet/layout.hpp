// Where an object has its code and its data, and which of its code the compiler took from headers.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "course/build/build.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// What objdump tells of an object: its sections with their flags, in which section which data stand, and how much memory its
/// variables take.
struct Layout {
    bool cut = false;  // it has more names than can be looked at
    std::size_t variables_bytes = 0;
    std::vector<std::pair<std::string, std::string>> sections;
    std::vector<std::pair<std::string, std::string>> data;  // section and name
};

Layout layout_of(const Context& context, const std::filesystem::path& object);

/// Which of the names that an object defines come from headers: inline functions, templates, vtables and their like.
std::set<std::string> from_headers(const Context& context, const Built& built);

}  // namespace dist::cli
