// What an exercise is made of, and whether all of it is there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// What is missing or unfinished, a sentence each: files, header, hints, TODO, mutants, lesson.
std::vector<std::string> missing_parts(const Context& context, const Exercise& exercise);

/// The stub as committed, whatever the student has written since; the file itself without git.
std::string stub_text(const Context& context, const Exercise& exercise);

/// A file that is tried in the place of an exercise's, and what must come of it. Its first lines:
///
///     // Every rank passes its whole tensor around the ring.
///     // state: fail in each rank sends 2 (p - 1) chunks
///     // says: bytes_sent
///
/// `in` names the test that must refuse it, or a part of that name: without --all-tests it runs alone.
/// In a difference (difference.hpp) they stand above it, without the slashes.
struct Case {
    std::filesystem::path file;  // relative to the repository
    State state = State::pass;
    std::string test;               // empty: whichever
    std::vector<std::string> says;  // the report contains each of these
};

/// The cases of a folder, by name; none when the folder is not there.
/// Errors  CommandError for a file without a state, unless `otherwise` is what it then expects.
std::vector<Case> read_cases(
    const Context& context, const std::filesystem::path& folder, const State* otherwise = nullptr
);

}  // namespace dist::cli
