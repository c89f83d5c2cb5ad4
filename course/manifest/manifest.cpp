#include "course/manifest/manifest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "course/manifest/fields.hpp"
#include "course/process/error.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExerciseList = "exercises/course.toml";

Exercise read_exercise(const toml::node& node) {
    const Fields fields(node, kExerciseList, "exercise");
    Exercise exercise;
    exercise.name = fields.text("name");
    exercise.chapter = fields.text("chapter");
    exercise.title = fields.text("title");
    exercise.needs = needs_named(fields.text("needs")).word;
    exercise.difficulty = fields.number("difficulty");
    exercise.importance = fields.number("importance");
    exercise.minutes = fields.number("minutes");
    exercise.ranks = fields.number("ranks");
    exercise.files = fields.flag("files");
    exercise.sockets = fields.flag("sockets");
    exercise.walk = fields.flag("walk");
    exercise.uses = fields.texts("uses");
    exercise.hints = fields.texts("hints");
    return exercise;
}

SelfTest read_self_test(const toml::node& node) {
    const Fields fields(node, kExerciseList, "self_test");
    return {
        fields.text("program"), fields.text("source"), fields.text("cases"),
        fields.number("ranks")};
}

/// The fewest insertions, deletions and replacements that turn one name into the other
/// (Levenshtein).
std::size_t edits(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

fs::path Exercise::source() const {
    return fs::path("exercises") / chapter / (name + std::string(kind().suffix));
}
fs::path Exercise::header() const {
    return fs::path("exercises") / chapter / (name + ".hpp");
}
fs::path Exercise::solution() const {
    return fs::path("solutions") / chapter / source().filename();
}
fs::path Exercise::test() const {
    return fs::path("tests") / chapter / (name + "_test.cpp");
}
fs::path Exercise::lesson() const {
    return fs::path("notebooks_md") / (chapter + ".md");
}
fs::path Exercise::mutants() const {
    return fs::path("tests/mutants") / chapter / name;
}
fs::path Exercise::alternatives() const {
    return fs::path("tests/alternatives") / chapter / name;
}

Program program_of(const Exercise& exercise) {
    return {
        .name = exercise.name,
        .source = exercise.source(),
        .ranks = exercise.ranks,
        .needs = exercise.needs,
        .files = exercise.files,
        .sockets = exercise.sockets,
        .vetted = true,
        .looked_at = exercise.kind().looked_at};
}

Program program_of(const SelfTest& self_test) {
    return {.name = self_test.program, .source = self_test.source, .ranks = self_test.ranks};
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
    std::string best;
    std::size_t fewest = std::max<std::size_t>(3, name.size() / 2) + 1;
    for (const std::string& candidate : names) {
        // a part of a name is as near as a slip of the finger: "all_reduc", "ring", "allreduce"
        std::size_t distance = edits(name, candidate);
        if (name.size() >= 3 && candidate.find(name) != std::string::npos) {
            distance = std::min<std::size_t>(distance, 2);
        }
        if (distance < fewest) {
            fewest = distance;
            best = candidate;
        }
    }
    return best;
}

const Exercise& Manifest::find(std::string_view name) const {
    // "exercises/03_ring_and_tree/ring_all_reduce.cpp", as a shell completes it
    const std::string stem = fs::path(name).stem().string();
    std::vector<std::string> names;
    for (const Exercise& exercise : exercises) {
        if (exercise.name == stem) {
            return exercise;
        }
        names.push_back(exercise.name);
    }
    const std::string near = nearest(stem, names);
    throw UsageError(fmt::format(
        "there is no exercise '{}'.{} ./shardlings list shows all", name,
        near.empty() ? "" : fmt::format(" Did you mean '{}'?", near)
    ));
}

std::vector<const Exercise*> Manifest::stack_of(const std::vector<std::string>& names) const {
    std::set<std::string_view> wanted(names.begin(), names.end());
    std::vector<const Exercise*> stack;
    // from the last to the first: an exercise uses only what comes before it
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot read std::views::reverse
    for (auto exercise = exercises.rbegin(); exercise != exercises.rend(); ++exercise) {
        if (wanted.contains(exercise->name)) {
            wanted.insert(exercise->uses.begin(), exercise->uses.end());
            stack.insert(stack.begin(), &*exercise);
        }
    }
    return stack;
}

Manifest read_manifest(const fs::path& root) {
    try {
        const toml::table document = toml::parse_file((root / kExerciseList).string());
        Manifest manifest;
        if (const toml::array* list = document["exercise"].as_array()) {
            for (const toml::node& node : *list) {
                manifest.exercises.push_back(read_exercise(node));
            }
        }
        if (const toml::array* list = document["self_test"].as_array()) {
            for (const toml::node& node : *list) {
                manifest.self_tests.push_back(read_self_test(node));
            }
        }
        return manifest;
    } catch (const toml::parse_error& error) {
        throw CommandError(
            exit_status::kOurs,
            fmt::format("{}:{}: {}", kExerciseList, error.source().begin.line, error.description())
        );
    }
}

}  // namespace dist::cli
