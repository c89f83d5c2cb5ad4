// The lines of build tools and compilers: what they say, and what they are made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dist::cli {

/// "building 12/40": how far the build tool is, by its own lines.
std::string steps_of(const std::string& output);

/// Seconds that the last step, the link, took. A line of the build starts "[done/all seconds] what".
double link_seconds(const std::string& output);

std::string replaced(std::string text, const std::string& from, const std::string& to);

/// The word after `flag` in a command line.
std::string word_after(const std::string& line, const std::string& flag);

/// The objects and archives of a link that the build has made.
std::vector<std::filesystem::path> inputs_of(const std::string& link);

/// What a make rule, as compilers write it, depends on.
std::vector<std::filesystem::path> dependencies_in(const std::string& rule);

}  // namespace dist::cli
