#include "course/check/changes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <sstream>
#include <utility>

#include "course/manifest/fields.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMutator = "mutate";  // universalmutator's program

std::vector<std::string> in_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

SingleChange change_of(const fs::path& file, const std::string& before, const std::string& after) {
    const std::vector<std::string> old = in_lines(before);
    const std::vector<std::string> now = in_lines(after);
    const auto differ = std::ranges::mismatch(old, now);
    const std::size_t first = differ.in1 - old.begin();
    const std::size_t most = std::min(old.size(), now.size()) - first;
    std::size_t same = 0;  // lines at the end
    while (same < most && old[old.size() - 1 - same] == now[now.size() - 1 - same]) {
        ++same;
    }
    const std::size_t begin = first - std::min<std::size_t>(first, 1);
    const std::size_t rest = std::min<std::size_t>(same, 1);
    const std::size_t old_end = old.size() - same;
    const std::size_t now_end = now.size() - same;
    SingleChange change{first + 1, "", after};
    change.difference = fmt::format(
        "--- {}\n+++ change\n@@ -{},{} +{},{} @@\n", file.string(), begin + 1,
        old_end + rest - begin, begin + 1, now_end + rest - begin
    );
    const auto show = [&](char mark, const std::vector<std::string>& lines, std::size_t from,
                          std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            change.difference += mark + lines[i] + "\n";
        }
    };
    show(' ', old, begin, first);
    show('-', old, first, old_end);
    show('+', now, first, now_end);
    show(' ', old, old_end, old_end + rest);
    return change;
}

std::string mutator_missing(const Context& context) {
    if (run(context, {"sh", "-c", fmt::format("command -v {} || exit 1", kMutator)}).ok()) {
        return "";
    }
    return "universalmutator, which makes the changes, is not installed: python3 -m venv VENV && . "
           "VENV/bin/activate && pip install universalmutator";
}

std::vector<SingleChange> changes_of(
    const Context& context, const Exercise& exercise, std::uint64_t seed
) {
    const fs::path file = exercise.solution();
    const fs::path folder = context.build_folder() / "score" / exercise.name / "made";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const Ended ended =
        run(context, {kMutator, (context.root / file).string(), "--noCheck", "--only",
                      (context.root / "course/check/changes.rules").string(), "--mutantDir",
                      folder.string()});
    if (!ended.ok()) {
        throw CommandError(
            exit_status::kFailed, fmt::format("{} fails:\n{}", kMutator, ended.output)
        );
    }
    const std::string before = read_text(context.root / file);
    std::vector<std::pair<std::size_t, SingleChange>> drawn;
    for (const auto& entry : fs::directory_iterator(folder)) {
        SingleChange change = change_of(file, before, read_text(entry.path()));
        const std::string what = change.difference.substr(change.difference.find(" @@\n"));
        drawn.emplace_back(
            std::hash<std::string>{}(fmt::format("{} {}", seed, what)), std::move(change)
        );
    }
    std::ranges::sort(drawn, [](const auto& a, const auto& b) {
        return std::pair(a.first, a.second.line) < std::pair(b.first, b.second.line);
    });
    std::vector<SingleChange> changes;
    changes.reserve(drawn.size());
    for (auto& [place, change] : drawn) {
        changes.push_back(std::move(change));
    }
    return changes;
}

std::set<std::string> equal_programs(const Context& context, const Exercise& exercise) {
    const std::string list =
        fmt::format("tests/mutants/{}/{}.toml", exercise.chapter, exercise.name);
    std::set<std::string> programs;
    if (!fs::exists(context.root / list)) {
        return programs;
    }
    const auto refuse = [&](const std::string& what) {
        throw CommandError(exit_status::kFailed, fmt::format("{}: {}", list, what));
    };
    toml::table document;
    try {
        document = toml::parse_file((context.root / list).string());
    } catch (const toml::parse_error& error) {
        refuse(fmt::format("line {}: {}", error.source().begin.line, error.description()));
    }
    const std::string reference = read_text(context.root / exercise.solution());
    for (const Fields& equal : Fields(document, list, exercise.name).tables("equal")) {
        const std::string from = equal.text("from");
        const std::size_t at = reference.find(from);
        if (equal.text("why").empty()) {
            refuse(fmt::format("the equal change of '{}' does not say why", from));
        } else if (from.empty() || at == std::string::npos || reference.find(from, at + 1) != std::string::npos) {
            refuse(fmt::format(
                "the equal change of '{}': that does not stand in {} once", from,
                exercise.solution().string()
            ));
        }
        programs.insert(std::string(reference).replace(at, from.size(), equal.text("to")));
    }
    return programs;
}

}  // namespace dist::cli
