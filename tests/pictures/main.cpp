// draw_pictures           draws the lessons' pictures of messages anew
// draw_pictures --check   only says which of them are not what the reference solutions send now
// draw_pictures --html FOLDER   writes a page for each into FOLDER, NAME.html, which plays its messages
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string>

#include "course/files/atomic_file.hpp"
#include "course/launch/launch.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/report/drawing.hpp"
#include "course/report/player.hpp"
#include "tests/pictures/draw.hpp"

namespace {

namespace fs = std::filesystem;
using namespace dist::cli;

constexpr const char* kFolder = "notebooks_md/pictures/messages";

/// Why a test did not pass, in a sentence.
std::string reason(const TestResult& test) {
    for (const RankResult& rank : test.per_rank) {
        if (test.message.empty() && !rank.failures.empty()) {
            return fmt::format(
                "rank {}: {} is {}", rank.rank, rank.failures[0].expression,
                rank.failures[0].expansion
            );
        }
    }
    return test.message;
}

/// Runs every algorithm.
///
/// Errors  CommandError with the first one that did not pass.
Result run_all(const fs::path& executable, const LaunchOptions& options) {
    Context context;
    context.root = REPOSITORY;
    context.preset = fs::path(BUILD_FOLDER).filename();
    const Program program{"pictures", "tests/pictures/main.cpp", 8};
    const Result result = launch(context, program, executable, {}, options);
    for (const TestResult& test : result.tests) {
        if (test.status != State::pass) {
            throw CommandError(
                exit_status::kFailed, fmt::format(
                                          "{} on {} ranks: {}. {}", test.name, test.ranks,
                                          name_of(test.status), reason(test)
                                      )
            );
        }
    }
    return result;
}

/// Draws the picture of every algorithm.
void draw_into(const fs::path& folder) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    setenv(dist::diagrams::kEnvPictures, folder.c_str(), 1);
    run_all(PICTURES_TEST, {});
}

/// A page for each picture; and, where that program was built, for steps of training.
int write_pages(const fs::path& folder) {
    fs::create_directories(folder);
    int pages = 0;
    for (const fs::path executable : {PICTURES_TEST, TRAINING_PICTURES_TEST}) {
        const bool is_there = fs::exists(executable);
        for (const TestResult& test :
             is_there ? run_all(executable, {.trace = true}).tests : std::vector<TestResult>()) {
            if (has_messages(test)) {
                dist::files::write_atomically(
                    folder / (test.name + ".html"), player_page(test, test.name)
                );
                ++pages;
            }
        }
    }
    fmt::print("{}: {} pages\n", folder.string(), pages);
    return 0;
}

std::set<fs::path> names_in(const fs::path& folder) {
    std::set<fs::path> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        names.insert(entry.path().filename());
    }
    return names;
}

/// The names of the pictures that are not the same in both folders.
std::string differences(const fs::path& drawn, const fs::path& committed) {
    std::set<fs::path> names = names_in(drawn);
    names.merge(names_in(committed));
    std::string text;
    for (const fs::path& name : names) {
        const bool both = fs::exists(drawn / name) && fs::exists(committed / name);
        if (!both || read_text(drawn / name) != read_text(committed / name)) {
            text += (text.empty() ? "" : ", ") + name.string();
        }
    }
    return text;
}

int compare_or_copy(bool check) {
    const fs::path drawn = fs::path(BUILD_FOLDER) / "pictures";
    const fs::path committed = fs::path(REPOSITORY) / kFolder;
    draw_into(drawn);
    fs::create_directories(committed);
    const std::string names = differences(drawn, committed);
    if (names.empty()) {
        fmt::print("{}: every picture shows what the reference sends\n", kFolder);
        return 0;
    }
    if (check) {
        fmt::print(
            stderr, "{}: {}: not what the reference sends now; to redraw: scripts/draw_pictures\n",
            kFolder, names
        );
        return 1;
    }
    fs::remove_all(committed);
    fs::copy(drawn, committed);
    fmt::print("{}: drawn anew: {}\n", kFolder, names);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::string word = argc > 1 ? argv[1] : "";
        return word == "--html" && argc > 2 ? write_pages(argv[2])
                                            : compare_or_copy(word == "--check");
    } catch (const std::exception& error) {
        fmt::print(stderr, "draw_pictures: {}\n", error.what());
        return 1;
    }
}
