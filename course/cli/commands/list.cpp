// list: every exercise, what is done, and what comes next.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "course/cli/commands/command.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/exercises/progress.hpp"
#include "course/cli/report/report.hpp"

namespace dist::cli {
namespace {

std::string state_of_exercise(
    const Exercise& exercise, const Progress& progress, const Exercise* next
) {
    if (progress.done.count(exercise.name) != 0) {
        return "done";
    }
    if (!passed_over(exercise, progress, gpu_here()).empty()) {
        return "skipped";
    }
    return next != nullptr && next->name == exercise.name ? "next" : "open";
}

void print_json(const Manifest& manifest, const Progress& progress, const Exercise* next) {
    nlohmann::ordered_json exercises = nlohmann::ordered_json::array();
    int done = 0;
    for (const Exercise& exercise : manifest.exercises) {
        const std::string state = state_of_exercise(exercise, progress, next);
        done += state == "done" ? 1 : 0;
        exercises.push_back(
            {{"name", exercise.name},
             {"chapter", exercise.chapter},
             {"title", exercise.title},
             {"state", state},
             {"difficulty", exercise.difficulty},
             {"importance", exercise.importance},
             {"minutes", exercise.minutes},
             {"ranks", exercise.ranks},
             {"needs", exercise.needs},
             {"uses", exercise.uses},
             {"source", exercise.source().string()},
             {"header", exercise.header().string()},
             {"lesson", exercise.lesson().string()}}
        );
    }
    const nlohmann::ordered_json document = {
        {"format", 1},
        {"done", done},
        {"total", manifest.exercises.size()},
        {"exercises", exercises},
    };
    fmt::print("{}\n", document.dump(2));
}

void print_table(const Manifest& manifest, const Progress& progress, const Exercise* next) {
    const bool colours = use_colours();
    std::size_t width = 0;
    for (const Exercise& exercise : manifest.exercises) {
        width = std::max(width, exercise.name.size());
    }
    std::string chapter;
    int done = 0;
    int minutes_left = 0;
    std::map<std::string_view, int> passed_over_why;
    fmt::print("      {:{}}  difficulty  importance  minutes  needs  what\n", "exercise", width);
    for (const Exercise& exercise : manifest.exercises) {
        if (exercise.chapter != chapter) {
            chapter = exercise.chapter;
            fmt::print("{}\n", paint(chapter, Colour::bold, colours));
        }
        const std::string state = state_of_exercise(exercise, progress, next);
        const Colour colour = state == "done"   ? Colour::green
                              : state == "next" ? Colour::yellow
                                                : Colour::none;
        done += state == "done" ? 1 : 0;
        if (state == "skipped") {
            ++passed_over_why[passed_over(exercise, progress, gpu_here())];
        }
        minutes_left += state == "done" || state == "skipped" ? 0 : exercise.minutes;
        fmt::print(
            "{}  {:{}}  {:10}  {:10}  {:7}  {:5}  {}\n",
            paint(state == "open" ? "    " : state.substr(0, 4), colour, colours), exercise.name,
            width, std::string(static_cast<std::size_t>(exercise.difficulty), '*'),
            std::string(static_cast<std::size_t>(exercise.importance), '*'), exercise.minutes,
            exercise.needs, exercise.title
        );
    }
    fmt::print("\n");
    for (const auto& [why, count] : passed_over_why) {
        fmt::print("{} passed over: {} {}\n", count, count == 1 ? "it" : "each", why);
    }
    fmt::print("{} of {} done", done, manifest.exercises.size());
    if (next != nullptr) {
        fmt::print(
            ", about {} minutes to go. Next: ./shardlings run {}\n", minutes_left, next->name
        );
    } else {
        fmt::print(". Is it all still right? ./shardlings verify\n");
    }
}

}  // namespace

void add_list(Command& app, Context& context) {
    auto command = app.add_subcommand("list", "All exercises, what is done, and what comes next");
    command.add_flag("--json", context.json, "One JSON document");
    command.callback([&context] {
        const Manifest manifest = read_manifest(context.root);
        const Progress progress = read_progress(context.root);
        const Exercise* next = current_exercise(manifest, progress);
        (context.json ? print_json : print_table)(manifest, progress, next);
    });
}

}  // namespace dist::cli
