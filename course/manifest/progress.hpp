// What the student has done: .shardlings/progress, a text file that may be deleted at any time. It
// only saves typing and time; it is never evidence: verify --fresh runs everything again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "course/manifest/manifest.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// A verdict, and of which text.
struct Judged {
    std::string content;  // content_of the files that it rests on
    State state = State::not_run;
};

struct Progress {
    std::set<std::string> done;
    std::set<std::string> skipped;     // cannot run on this machine: when last tried
    std::map<std::string, int> hints;  // seen so far, by exercise
    std::set<std::string> solutions_seen;
    std::map<std::string, Judged>
        judged;                      // what passed, failed or was the stub: holds for that content
    std::set<std::string> answered;  // questions, as CHAPTER/NAME
    std::uint64_t seed = 0;          // of this reader's numbers in questions; 0: not drawn yet
    std::string current;             // last run; empty: the first that is not done
};

/// What a verdict on the student's file rests on, as a number: the texts of the file, its header, its test and the harness, of what
/// answers include, and which compiler and libraries there are. To be taken before the run: the file may be saved meanwhile.
std::string content_of(const std::filesystem::path& root, const Exercise& exercise);

/// Notes what a whole run of the student's file has shown: done, skipped, or neither. Only what
/// holds whatever else happens on this machine is kept for the content: a hang may have been its load.
void note(Progress& progress, const std::string& name, State status, const std::string& content);

/// The verdict on this very content; nothing if there is none.
std::optional<State> verdict_on(
    const Progress& progress, const std::string& name, const std::string& content
);

/// Whether it has passed as it is now.
bool passes_unchanged(
    const std::filesystem::path& root, const Progress& progress, const Exercise& exercise
);

/// An absent or damaged file is an empty progress.
Progress read_progress(const std::filesystem::path& root);
/// A folder that cannot be written costs the memory, not the run.
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
