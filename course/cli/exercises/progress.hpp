// What the student has done: .shardlings/progress, a text file that may be deleted at any time. It
// only saves typing; it is never evidence, verify runs everything again.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "course/cli/exercises/manifest.hpp"
#include "course/cli/result/result.hpp"

namespace dist::cli {

struct Progress {
    std::set<std::string> done;
    std::set<std::string> skipped;     // cannot run on this machine: when last tried
    std::map<std::string, int> hints;  // seen so far, by exercise
    std::set<std::string> solutions_seen;
    std::string current;  // last run; empty: the first that is not done
};

/// Notes what a whole run of the student's file has shown: done, skipped, or neither.
void note(Progress& progress, const std::string& name, State status);

/// An absent or damaged file is an empty progress.
Progress read_progress(const std::filesystem::path& root);
/// Written to a temporary file, then renamed.
void write_progress(const std::filesystem::path& root, const Progress& progress);

/// Whether this machine shows a GPU, by its driver's files.
bool gpu_here();

/// Why an exercise is passed over, as a list says it: it was skipped when last tried, or needs a GPU
/// where there is none. Empty: it is not.
std::string_view passed_over(const Exercise& exercise, const Progress& progress, bool gpu);

/// The exercise that a command without a name means: the current one unless it is done, otherwise
/// the first that is not done; null when all are. What cannot run on this machine is passed over.
const Exercise* current_exercise(
    const Manifest& manifest, const Progress& progress, bool gpu = gpu_here()
);

}  // namespace dist::cli
