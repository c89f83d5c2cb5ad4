#include "course/cli/launch/mine.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>

#include "course/cli/build/setup.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/launch/attempt.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/files.hpp"
#include "course/cli/result/result.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using Verdicts = std::map<std::string, std::string>;  // state, by content

std::string content_of(const Context& context, const Exercise& exercise) {
    std::string text;
    for (const fs::path& file : {exercise.source(), exercise.header(), exercise.test()}) {
        text += read_text(context.root / file);
    }
    return fmt::format("{}-{:016x}", exercise.name, std::hash<std::string>{}(text));
}

Verdicts read_verdicts(const fs::path& file) {
    Verdicts verdicts;
    std::ifstream in(file);
    for (std::string content, state; in >> content >> state;) {
        verdicts[content] = state;
    }
    return verdicts;
}

void write_verdicts(const fs::path& file, const Verdicts& verdicts) {
    const fs::path temporary = file.string() + ".new";
    std::ofstream out(temporary);
    for (const auto& [content, state] : verdicts) {
        out << content << ' ' << state << '\n';
    }
    out.close();
    std::error_code ignored;  // it is a cache
    if (out) {
        fs::rename(temporary, file, ignored);
    }
}

}  // namespace

std::vector<std::string> finished_exercises(
    Context& context, const std::vector<std::string>& used
) {
    const Manifest manifest = read_manifest(context.root);
    const std::vector<const Exercise*> stack = manifest.stack_of(used);
    const fs::path file = context.root / ".shardlings" / "verdicts";
    const Verdicts known = read_verdicts(file);
    Verdicts verdicts;
    std::vector<std::string> finished;
    for (const Exercise& exercise : manifest.exercises) {
        const std::string content = content_of(context, exercise);
        const auto found = known.find(content);
        const bool wanted = std::ranges::find(stack, &exercise) != stack.end();
        if (found == known.end() && wanted) {
            fmt::print(stderr, "Is {} yours? ", exercise.name);
            const State state = run_test(context, program_of(exercise)).status;
            fmt::print(stderr, "{}\n", name_of(state));
            verdicts[content] = name_of(state);
        } else if (found != known.end()) {
            verdicts[content] = found->second;
        }
        if (wanted && verdicts[content] == name_of(State::pass)) {
            finished.push_back(exercise.name);
        }
    }
    // only what holds whatever else happens on this machine: a hang may have been its load
    std::erase_if(verdicts, [](const auto& verdict) {
        return verdict.second != name_of(State::pass) &&
               verdict.second != name_of(State::not_started);
    });
    write_verdicts(file, verdicts);
    return finished;
}

std::string describe_stack(
    const Context& context,
    const std::vector<std::string>& used,
    const std::vector<std::string>& mine
) {
    const Manifest manifest = read_manifest(context.root);
    std::vector<std::string> yours;
    std::vector<std::string> reference;
    for (const Exercise* exercise : manifest.stack_of(used)) {
        auto& part = std::ranges::find(mine, exercise->name) == mine.end() ? reference : yours;
        part.insert(part.begin(), exercise->name);
    }
    std::string text = "stack:";
    if (!yours.empty()) {
        text += fmt::format(" yours: {}", fmt::join(yours, ", "));
    }
    if (!reference.empty()) {
        text += fmt::format(
            "{} the reference's: {}", yours.empty() ? "" : ";", fmt::join(reference, ", ")
        );
    }
    return text;
}

void configure_mine(Context& context, const std::vector<std::string>& exercises) {
    if (exercises.empty()) {
        throw CommandError(
            exit_status::kFailed,
            "no exercise that this stands on passes yet, so there is no stack of your own; start "
            "with ./shardlings"
        );
    }
    const std::string list = fmt::format("{}", fmt::join(exercises, ";"));
    if (cached_value(context, "SHARDLINGS_MINE") != list) {
        configure(context, {"-DSHARDLINGS_MINE=" + list});
    }
}

}  // namespace dist::cli
