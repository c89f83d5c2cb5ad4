#include "course/manifest/progress.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <vector>

#include "course/files/atomic_file.hpp"
#include "course/manifest/test_folders.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

std::string digest(const std::string& text) {
    return fmt::format("{:016x}", std::hash<std::string>{}(text));
}

/// The harness, helpers of tests, what answers include, and which compiler and libraries the build has found.
std::string what_tests_share(const fs::path& root) {
    std::vector<fs::path> folders = test_folders(root);
    for (const char* const room : {"runtime", "nn", "files", "net", "data"}) {
        folders.push_back(root / "course" / room);
    }
    std::vector<fs::path> files;
    for (const fs::path& folder : folders) {
        std::error_code gone;
        for (const auto& entry : fs::recursive_directory_iterator(folder, gone)) {
            if (entry.is_regular_file() && !entry.path().string().ends_with("_test.cpp")) {
                files.push_back(entry.path());
            }
        }
    }
    std::ranges::sort(files);
    std::string text;
    for (const fs::path& file : files) {
        text += read_text(file);
    }
    std::ifstream cache(root / "build/release/CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
        if (line.starts_with("CMAKE_CXX_COMPILER:") || line.starts_with("LibTorch_") ||
            line.starts_with("MPI_CXX")) {
            text += line;
        }
    }
    return text;
}

fs::path file_of(const fs::path& root) {
    return root / ".shardlings" / "progress";
}

}  // namespace

std::string content_of(const fs::path& root, const Exercise& exercise) {
    static std::mutex one_at_a_time;
    static std::map<fs::path, std::string> shared;  // read once: a command asks for many exercises
    std::string text;
    {
        const std::scoped_lock guard(one_at_a_time);
        const auto [place, is_new] = shared.try_emplace(root);
        if (is_new) {
            place->second = digest(what_tests_share(root));
        }
        text = place->second;
    }
    for (const fs::path& file : {exercise.source(), exercise.header(), exercise.test()}) {
        text += read_text(root / file);
    }
    return digest(text);
}

void note(Progress& progress, const std::string& name, State status, const std::string& content) {
    progress.judged.erase(name);
    if (status == State::pass || status == State::fail || status == State::not_started) {
        progress.judged[name] = {content, status};
    }
    progress.done.erase(name);
    progress.skipped.erase(name);
    if (status == State::pass) {
        progress.done.insert(name);
    } else if (status == State::skipped) {
        progress.skipped.insert(name);
    }
}

std::optional<State> verdict_on(
    const Progress& progress, const std::string& name, const std::string& content
) {
    const auto found = progress.judged.find(name);
    const bool same = found != progress.judged.end() && found->second.content == content;
    return same ? std::optional(found->second.state) : std::nullopt;
}

bool passes_unchanged(const fs::path& root, const Progress& progress, const Exercise& exercise) {
    return verdict_on(progress, exercise.name, content_of(root, exercise)) == State::pass;
}

Progress read_progress(const fs::path& root) {
    Progress progress;
    std::ifstream file(file_of(root));
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string what;
        std::string name;
        words >> what >> name;
        if (what == "done") {
            progress.done.insert(name);
        } else if (what == "skipped") {
            progress.skipped.insert(name);
        } else if (what == "hints") {
            words >> progress.hints[name];
        } else if (what == "solution") {
            progress.solutions_seen.insert(name);
        } else if (what == "judged") {
            std::string state;
            std::string content;
            words >> state >> content;
            progress.judged[name] = {content, state_of(state).value_or(State::not_run)};
        } else if (what == "answered") {
            progress.answered.insert(name);
        } else if (what == "seed") {
            std::istringstream(name) >> progress.seed;
        } else if (what == "current") {
            progress.current = name;
        }
    }
    return progress;
}

void write_progress(const fs::path& root, const Progress& progress) {
    const fs::path path = file_of(root);
    std::ostringstream file;
    file << "# What shardlings remembers. May be deleted at any time; proves nothing.\n";
    file << "current " << progress.current << '\n';
    for (const std::string& name : progress.done) {
        file << "done " << name << '\n';
    }
    for (const std::string& name : progress.skipped) {
        file << "skipped " << name << '\n';
    }
    for (const auto& [name, seen] : progress.hints) {
        file << "hints " << name << ' ' << seen << '\n';
    }
    for (const std::string& name : progress.solutions_seen) {
        file << "solution " << name << '\n';
    }
    for (const std::string& question : progress.answered) {
        file << "answered " << question << '\n';
    }
    file << "seed " << progress.seed << '\n';
    for (const auto& [name, verdict] : progress.judged) {
        file << "judged " << name << ' ' << name_of(verdict.state) << ' ' << verdict.content
             << '\n';
    }
    try {
        fs::create_directories(path.parent_path());
        files::write_atomically(path, file.str());
    } catch (const std::system_error&) {  // told in the header
    }
}

bool gpu_here() {
    std::error_code ignored;
    return fs::exists("/dev/nvidiactl", ignored) ||
           fs::exists("/dev/dxg", ignored);  // Windows: dxg
}

std::string_view passed_over(const Exercise& exercise, const Progress& progress, bool gpu) {
    return exercise.for_gpu() && !gpu                 ? exercise.kind().skipped
           : progress.skipped.contains(exercise.name) ? "was skipped when last run"
                                                      : "";
}

const Exercise* current_exercise(const Manifest& manifest, const Progress& progress, bool gpu) {
    const Exercise* first_open = nullptr;
    for (const Exercise& exercise : manifest.exercises) {
        if (progress.done.contains(exercise.name) ||
            !passed_over(exercise, progress, gpu).empty()) {
            continue;
        }
        if (exercise.name == progress.current) {
            return &exercise;
        }
        first_open = first_open == nullptr ? &exercise : first_open;
    }
    return first_open;
}

}  // namespace dist::cli
