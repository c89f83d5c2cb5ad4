// watch: runs the current exercise at every save.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "course/cli/command.hpp"
#include "course/cli/reset.hpp"
#include "course/cli/run.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/shared_job.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/process/error.hpp"
#include "course/process/keyboard.hpp"
#include "course/process/saved_file.hpp"
#include "course/process/screen.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/fit.hpp"
#include "course/report/fold.hpp"
#include "course/report/footer.hpp"
#include "course/report/running_line.hpp"

namespace dist::cli {
namespace {

constexpr int kLookEveryMs = 30;
constexpr std::string_view kKeys = "rnhlcxq";

class Watch {
  public:
    Watch(Context& context, const std::string& name)
        : context_(context), manifest_(read_manifest(context.root)), jobs_(context) {
        open(select_exercise(manifest_, read_progress(context.root), name));
    }

    void loop() {
        again_ = true;
        while (!interrupted() && key_ != 'q') {
            if (again_) {
                run_current();
                ready_ = false;
            } else if (!ready_) {
                get_ready();
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
        const auto key = keyboard_.key(ms);
        if (key && kKeys.find(*key) != std::string_view::npos) {
            key_ = key;
        }
    }

    void run_current() {
        print_rule();
        again_ = false;
        context_.cancelled = [this] { return stops(); };
        std::optional<std::string> report;
        line_.emplace(context_);
        try {
            report = run_whole(context_, *exercise_, jobs_);
        } catch (const Interrupted&) {  // by stops()
        } catch (const CommandError& error) {
            report = std::string(error.what()) + "\n";
        }
        line_.reset();
        context_.cancelled = nullptr;
        if (report) {
            const auto screen = screen_of(STDOUT_FILENO);
            fmt::print("{}", screen ? fitted(*report, room(*screen), exercise_->name) : *report);
            print_footer();
        }
    }

    /// While somebody reads, or types. A key comes first.
    void get_ready() {
        context_.cancelled = [this] {
            look(0);
            return key_.has_value();
        };
        try {
            cli::get_ready(context_, *exercise_, jobs_);
            ready_ = true;
        } catch (const Interrupted&) {  // by a key
        } catch (const CommandError&) {
            ready_ = true;  // the next run says what is wrong
        }
        context_.cancelled = nullptr;
    }

    /// What happens while tests run. h and l answer at once, and so does n where it is refused; a save and
    /// every other key stop the tests.
    bool stops() {
        look(0);
        if (key_ == 'h' || key_ == 'l' ||
            (key_ == 'n' && !may_go_on(read_progress(context_.root)))) {
            line_->clear();
            answer(*std::exchange(key_, std::nullopt));
        }
        if (key_ == 'r') {
            key_.reset();
            again_ = true;
        }
        again_ = again_ || file_->saved();
        return again_ || key_;
    }

    void obey(char key) {
        switch (key) {
            case 'n':
                next();
                return;
            case 'r':
                again_ = true;
                return;
            case 'x':
                reset_current();
                return;
            default:
                answer(key);
                print_footer();
        }
    }

    /// The keys that only print.
    void answer(char key) const {
        if (key == 'h') {
            command({"hint", exercise_->name});
        } else if (key == 'l') {
            command({"list"});
        } else if (key == 'c') {
            command({"verify"});
        } else {
            say(exercise_->name + " does not pass yet; h gives a hint.\n");
        }
    }

    // The other commands are the program itself, started once more: what they print is the same.
    void command(std::vector<std::string> words) const {
        fmt::print("\n");
        words.insert(words.begin(), (context_.root / "shardlings").string());
        RunOptions options;
        options.attached = true;
        Context context = context_;
        context.cancelled = nullptr;  // it may run beside tests, which look at the keys
        context.running = nullptr;
        try {
            run(context, words, options);
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
            answer('n');
            return;
        }
        const Exercise* next = current_exercise(manifest_, progress);
        if (next == nullptr) {
            say("All exercises that can run here are done. c runs them all again, q ends.\n");
            return;
        }
        open(*next);
        again_ = true;
    }

    void reset_current() {
        say(fmt::format("Put the stub back into {}? y or n\n", exercise_->source().string()));
        std::optional<char> answer;
        while (!answer && !interrupted()) {
            answer = keyboard_.key(kLookEveryMs);
        }
        if (answer != 'y') {
            print_footer();
            return;
        }
        try {
            reset(context_, *exercise_);
            file_->saved();  // by this very program
            again_ = true;
        } catch (const CommandError& error) {
            say(std::string(error.what()) + "\n");
            print_footer();
        }
    }

    static void say(const std::string& text) {
        print_folded(text);
        std::fflush(stdout);
    }

    /// Nothing is cleared: what was said before stays above.
    void print_rule() const {
        const std::string source = exercise_->source().string();
        const auto screen = screen_of(STDOUT_FILENO);
        const std::size_t used = source.size() + 6;
        const std::size_t rest = screen && screen->columns > used ? screen->columns - used : 0;
        say(screen ? fmt::format("\n---- {} {:-<{}}\n", source, "", rest) : source + " ...\n");
    }

    /// What the report may take, so that the rule, the bar and the keys are seen with it.
    Screen room(const Screen& screen) const {
        const std::string last = footer();
        const auto others =
            3 + static_cast<std::size_t>(std::count(last.begin(), last.end(), '\n'));
        return {screen.rows > others ? screen.rows - others : 0, screen.columns};
    }

    /// The bar and the keys.
    std::string footer() const {
        const Progress progress = read_progress(context_.root);
        const auto& all = manifest_.exercises;
        const auto done = static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(),
            [&](const Exercise& exercise) { return progress.done.contains(exercise.name); }
        ));
        const std::size_t columns = columns_of(STDOUT_FILENO);
        return "\n" + progress_bar(done, all.size(), columns) +
               (keyboard_.on_terminal() ? key_words(may_go_on(progress), columns) : "");
    }

    void print_footer() const {
        fmt::print("{}", footer());
        std::fflush(stdout);
    }

    Context& context_;
    Manifest manifest_;
    Keyboard keyboard_;
    const Exercise* exercise_ = nullptr;
    std::optional<SavedFile> file_;
    std::optional<char> key_;
    bool again_ = false;
    bool ready_ = false;               // for the next save
    std::optional<RunningLine> line_;  // while tests run
    SharedJobs jobs_;
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
