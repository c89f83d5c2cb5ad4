#include "course/manifest/check_files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHints = 3;
constexpr std::size_t kFewestMutants = 5;

std::vector<fs::path> sources_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
        const fs::path kind = entry.path().extension();
        if (kind == ".cpp" || kind == ".cu" || kind == ".diff") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string trimmed(std::string text) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(" \r") + 1);
    return text;
}

}  // namespace

std::string stub_text(const Context& context, const Exercise& exercise) {
    const std::optional<std::string> stub = committed_stub(context, exercise);
    return stub ? *stub : read_text(context.root / exercise.source());
}

std::vector<std::string> missing_parts(const Context& context, const Exercise& exercise) {
    std::vector<std::string> missing;
    for (const fs::path& file :
         {exercise.header(), exercise.source(), exercise.solution(), exercise.test(),
          exercise.lesson()}) {
        if (!fs::is_regular_file(context.root / file)) {
            missing.push_back(fmt::format("{} is not there", file.string()));
        }
    }
    const std::string header = read_text(context.root / exercise.header());
    for (const char* word : {"/// Cost", "/// Errors", "/// Source"}) {
        if (header.find(word) == std::string::npos) {
            missing.push_back(fmt::format("{} has no line '{}'", exercise.header().string(), word));
        }
    }
    if (const std::size_t todos = occurrences(stub_text(context, exercise), "TODO"); todos != 1) {
        missing.push_back(fmt::format("{} has {} TODOs, not 1", exercise.source().string(), todos));
    }
    const std::string lesson = read_text(context.root / exercise.lesson());
    if (lesson.find("\n## " + exercise.name + "\n") == std::string::npos) {
        missing.push_back(
            fmt::format("{} has no section '## {}'", exercise.lesson().string(), exercise.name)
        );
    }
    const auto unwritten = [](const std::string& hint) {
        return hint.empty() || hint.starts_with("TODO");
    };
    if (exercise.hints.size() != kHints ||
        std::any_of(exercise.hints.begin(), exercise.hints.end(), unwritten)) {
        missing.push_back(fmt::format("it needs {} hints in exercises/course.toml", kHints));
    }
    const std::size_t mutants = sources_in(context.root / exercise.mutants()).size();
    if (mutants < kFewestMutants) {
        missing.push_back(fmt::format(
            "{} has {} mutants, at least {} are needed", exercise.mutants().string(), mutants,
            kFewestMutants
        ));
    }
    return missing;
}

std::vector<Case> read_cases(
    const Context& context, const fs::path& folder, const State* otherwise
) {
    std::vector<Case> cases;
    for (const fs::path& file : sources_in(context.root / folder)) {
        Case one;
        one.file = file.lexically_relative(context.root);
        std::optional<State> state;
        std::istringstream lines(read_text(file));
        const bool difference = file.extension() == ".diff";
        for (std::string line; std::getline(lines, line);) {
            if (difference ? line.starts_with("--- ") : !line.starts_with("//")) {
                break;
            }
            line = trimmed(difference ? line : line.substr(2));
            if (line.starts_with("state:")) {
                const std::size_t in = line.find(" in ");
                state = state_of(trimmed(line.substr(6, in - 6)));
                one.test = in == std::string::npos ? "" : trimmed(line.substr(in + 4));
            } else if (line.starts_with("says:")) {
                one.says.push_back(trimmed(line.substr(5)));
            }
        }
        if (!state && otherwise == nullptr) {
            throw CommandError(
                exit_status::kFailed,
                fmt::format("{} does not say its state: '// state: fail'", one.file.string())
            );
        }
        one.state = state ? *state : *otherwise;
        cases.push_back(one);
    }
    return cases;
}

}  // namespace dist::cli
