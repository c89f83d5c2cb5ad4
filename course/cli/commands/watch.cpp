// watch: runs the current exercise at every save.
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>

#include "course/cli/commands/command.hpp"
#include "course/cli/commands/reset.hpp"
#include "course/cli/commands/run.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/exercises/progress.hpp"
#include "course/cli/exercises/select.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/keyboard.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/cli/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLookEveryMs = 300;

/// Notices that a file was saved. Editors replace files: one that is gone for a moment has not
/// changed.
class SavedFile {
  public:
    explicit SavedFile(fs::path file) : file_(std::move(file)) { saved(); }

    /// Whether it was saved since this was asked last.
    bool saved() {
        std::error_code gone;
        const fs::file_time_type time = fs::last_write_time(file_, gone);
        if (gone || time == time_) {
            return false;
        }
        time_ = time;
        return true;
    }

  private:
    fs::path file_;
    fs::file_time_type time_;
};

class Watch {
  public:
    Watch(Context& context, const std::string& name)
        : context_(context), manifest_(read_manifest(context.root)) {
        open(select_exercise(manifest_, read_progress(context.root), name));
    }

    void loop() {
        again_ = true;
        while (!interrupted() && key_ != 'q') {
            if (again_) {
                run_current();
            } else {
                look(kLookEveryMs);
                again_ = file_->saved();
            }
            if (key_ && key_ != 'q') {
                const char key = *key_;
                key_.reset();
                obey(key);
            }
        }
        fmt::print("\n");
    }

  private:
    void open(const Exercise& exercise) {
        exercise_ = &exercise;
        file_.emplace(context_.root / exercise.source());
        Progress progress = read_progress(context_.root);
        progress.current = exercise.name;
        write_progress(context_.root, progress);
    }

    void look(int ms) {
        if (const auto key = keyboard_.key(ms)) {
            key_ = key;
        }
    }

    // A save, r and q stop what runs; any other key waits until it has ended.
    void run_current() {
        clear_screen();
        fmt::print("{} ...\n", exercise_->source().string());
        again_ = false;
        context_.cancelled = [this] {
            look(0);
            again_ = again_ || file_->saved() || key_ == 'r';
            return again_ || key_ == 'q';
        };
        try {
            run_and_report(context_, *exercise_);
            footer();
        } catch (const Interrupted&) {
            if (key_ == 'r') {
                key_.reset();
            }
        } catch (const CommandError& error) {
            fmt::print("{}\n", error.what());
            footer();
        }
        context_.cancelled = nullptr;
    }

    void obey(char key) {
        switch (key) {
            case 'n':
                next();
                return;
            case 'r':
                again_ = true;
                return;
            case 'h':
                command({"hint", exercise_->name});
                break;
            case 'l':
                command({"list"});
                break;
            case 'c':
                command({"verify"});
                break;
            case 'x':
                reset_current();
                return;
            default:
                return;
        }
        footer();
    }

    // The other commands are the program itself, started once more: what they print is the same.
    void command(std::vector<std::string> words) {
        clear_screen();
        words.insert(words.begin(), (context_.root / "shardlings").string());
        RunOptions options;
        options.attached = true;
        try {
            run(context_, words, options);
        } catch (const Interrupted&) {
        }
    }

    /// Past an exercise that is done, or cannot be done on this machine.
    bool may_go_on(const Progress& progress) const {
        return progress.done.contains(exercise_->name) ||
               progress.skipped.contains(exercise_->name);
    }

    void next() {
        const Progress progress = read_progress(context_.root);
        if (!may_go_on(progress)) {
            fmt::print("{} does not pass yet; h gives a hint.\n", exercise_->name);
            return;
        }
        const Exercise* next = current_exercise(manifest_, progress);
        if (next == nullptr) {
            fmt::print("All exercises that can run here are done. c runs them all again, q ends.\n"
            );
            return;
        }
        open(*next);
        again_ = true;
    }

    void reset_current() {
        fmt::print("Put the stub back into {}? y or n\n", exercise_->source().string());
        std::optional<char> answer;
        while (!answer && !interrupted()) {
            answer = keyboard_.key(kLookEveryMs);
        }
        if (answer == 'y') {
            reset(context_, *exercise_);
            again_ = true;
        } else {
            footer();
        }
    }

    void clear_screen() const {
        if (keyboard_.on_terminal()) {
            fmt::print("\033[2J\033[3J\033[H");
            std::fflush(stdout);
        }
    }

    void footer() const {
        const Progress progress = read_progress(context_.root);
        const auto total = manifest_.exercises.size();
        const auto filled = 20 * progress.done.size() / total;
        fmt::print(
            "\n[{}{}] {} of {} done\n", std::string(filled, '#'), std::string(20 - filled, '-'),
            progress.done.size(), total
        );
        if (keyboard_.on_terminal()) {
            fmt::print(
                "{}r run · h hint · l list · c check all · x reset · q quit\n",
                may_go_on(progress) ? "n next · " : ""
            );
        }
        std::fflush(stdout);
    }

    Context& context_;
    Manifest manifest_;
    Keyboard keyboard_;
    const Exercise* exercise_ = nullptr;
    std::optional<SavedFile> file_;
    std::optional<char> key_;
    bool again_ = false;
};

}  // namespace

void add_watch(Command& app, Context& context) {
    auto command = app.add_subcommand("watch", "Run the current exercise at every save");
    auto name = std::make_shared<std::string>();
    command.add_option("NAME", *name, "Start with this exercise");
    command.callback([&context, name] {
        Watch(context, *name).loop();
        context.status = 0;
    });
}

}  // namespace dist::cli
