// list: every exercise, what is done, and what comes next.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unistd.h>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/questions.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"
#include "course/report/report.hpp"

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

void print_json(
    const std::filesystem::path& root,
    const Manifest& manifest,
    const Progress& progress,
    const Exercise* next
) {
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
             {"changed", state == "done" && !passes_unchanged(root, progress, exercise)},
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

// columns of a window
constexpr std::size_t kWhole = 110;  // has room for everything
constexpr std::size_t kBeside = 70;  // has room for titles beside names

struct Row {
    std::string state, name, difficulty, importance, minutes, needs, title;
};

std::string stars(int count) {
    return std::string(static_cast<std::size_t>(count), '*');
}

/// The row in a window: a narrow one shows what it takes to choose, a very narrow one titles under names.
std::string line_of(const Row& row, std::size_t name_width, std::size_t window) {
    std::string line = row.state + "  " + row.name;
    if (window < kBeside) {
        return line + "\n" + folded_line("      " + row.title, window, 6) + "\n";
    }
    line += std::string(name_width - row.name.size(), ' ') + "  ";
    line += window < kWhole ? fmt::format("{:>7}  ", row.minutes)
                            : fmt::format(
                                  "{:10}  {:10}  {:>7}  {:5}  ", row.difficulty, row.importance,
                                  row.minutes, row.needs
                              );
    return folded_line(line + row.title, window, width_of(line)) + "\n";
}

bool all_answered(
    const std::filesystem::path& root, const std::string& chapter, const Progress& progress
) {
    const std::vector<Question> questions = read_questions(root, chapter);
    return !questions.empty() &&
           answered(questions, progress) == static_cast<int>(questions.size());
}

void print_rows(
    const Context& context, const Manifest& manifest, const Progress& progress, const Exercise* next
) {
    const std::size_t window = columns_of(STDOUT_FILENO);
    const bool colours = use_colours();
    std::size_t width = 0;
    for (const Exercise& exercise : manifest.exercises) {
        width = std::max(width, exercise.name.size());
    }
    const Row heading = {"    ",    "exercise", "difficulty", "importance",
                         "minutes", "needs",    "what"};
    fmt::print("{}", line_of(heading, width, window));
    std::string chapter;
    for (const Exercise& exercise : manifest.exercises) {
        if (exercise.chapter != chapter) {
            chapter = exercise.chapter;
            fmt::print(
                "{}{}\n", paint(chapter, Colour::bold, colours),
                all_answered(context.root, chapter, progress) ? ", questions answered" : ""
            );
        }
        const std::string state = state_of_exercise(exercise, progress, next);
        const Colour colour = state == "done"   ? Colour::green
                              : state == "next" ? Colour::yellow
                                                : Colour::none;
        const Row row = {
            paint(state == "open" ? "    " : state.substr(0, 4), colour, colours),
            exercise.name,
            stars(exercise.difficulty),
            stars(exercise.importance),
            std::to_string(exercise.minutes),
            exercise.needs,
            exercise.title};
        fmt::print("{}", line_of(row, width, window));
    }
}

/// What is done, what is left, and what comes next.
std::string summary(
    const std::filesystem::path& root,
    const Manifest& manifest,
    const Progress& progress,
    const Exercise* next
) {
    int done = 0;
    int changed = 0;
    int minutes_left = 0;
    std::map<std::string_view, int> passed_over_why;
    for (const Exercise& exercise : manifest.exercises) {
        const std::string state = state_of_exercise(exercise, progress, next);
        if (state == "done") {
            ++done;
            changed += passes_unchanged(root, progress, exercise) ? 0 : 1;
        } else if (state == "skipped") {
            ++passed_over_why[passed_over(exercise, progress, gpu_here())];
        } else {
            minutes_left += exercise.minutes;
        }
    }
    std::string text = "\n";
    for (const auto& [why, count] : passed_over_why) {
        text += fmt::format("{} passed over: {} {}\n", count, count == 1 ? "it" : "each", why);
    }
    text += fmt::format("{} of {} done", done, manifest.exercises.size());
    text += changed == 0 ? "" : fmt::format(" ({} changed since: ./shardlings verify)", changed);
    return text + (next == nullptr ? ". Is it all still right? ./shardlings verify\n"
                                   : fmt::format(
                                         ", about {} minutes to go. Next: ./shardlings run {}\n",
                                         minutes_left, next->name
                                     ));
}

void print_table(
    const Context& context, const Manifest& manifest, const Progress& progress, const Exercise* next
) {
    print_rows(context, manifest, progress, next);
    print_folded(summary(context.root, manifest, progress, next));
}

}  // namespace

void add_list(Command& app, Context& context) {
    auto command =
        app.add_subcommand("list", "Show all exercises, what is done, and what comes next");
    command.add_flag("--json", context.json, "One JSON document");
    command.callback([&context] {
        const Manifest manifest = read_manifest(context.root);
        const Progress progress = read_progress(context.root);
        const Exercise* next = current_exercise(manifest, progress);
        if (context.json) {
            print_json(context.root, manifest, progress, next);
        } else {
            print_table(context, manifest, progress, next);
        }
    });
}

}  // namespace dist::cli
