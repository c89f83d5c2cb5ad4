#include "course/manifest/check_files.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "course/manifest/cases.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHints = 3;
constexpr std::size_t kFewestMutants = 5;

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
    const std::size_t mutants = read_cases(context, exercise.mutants()).size();
    if (mutants < kFewestMutants) {
        missing.push_back(fmt::format(
            "{}.toml has {} mutants, at least {} are needed", exercise.mutants().string(), mutants,
            kFewestMutants
        ));
    }
    return missing;
}

}  // namespace dist::cli
