// check: the author's proof that stubs, solutions and tests are what they claim to be.
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <future>
#include <memory>

#include "course/cli/build/build.hpp"
#include "course/cli/commands/command.hpp"
#include "course/cli/exercises/check_files.hpp"
#include "course/cli/launch/attempt.hpp"
#include "course/cli/launch/gpu.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBuildsAtATime = 2;

struct Arguments {
    std::vector<std::string> names;
    bool mutants = false;
    int seeds = 1;
};

/// A case, what it is called, and the seeds it runs with.
struct Trial {
    Case expected;
    std::string what;
    int seeds = 1;
};

class Check {
  public:
    Check(Context& context, const Arguments& arguments)
        : context_(context), arguments_(arguments) {}

    void exercise(const Exercise& exercise) {
        const std::vector<std::string> missing = missing_parts(context_, exercise);
        line(missing.empty(), exercise.name, "is complete");
        for (const std::string& sentence : missing) {
            fmt::print("        {}\n", sentence);
        }
        std::vector<Trial> trials = {
            {{write_stub(exercise), State::not_started, {}}, "stub", 1},
            {{exercise.solution(), State::pass, {}}, "solution", arguments_.seeds},
        };
        if (arguments_.mutants) {
            add(trials, "mutant", read_cases(context_, exercise.mutants()));
            const State right = State::pass;
            add(trials, "alternative", read_cases(context_, exercise.alternatives(), &right));
        }
        const Program program = program_of(exercise);
        if (!exercise.for_gpu()) {
            try_all(program, &exercise, trials);
            return;
        }
        if (const std::string reason = gpu_code_missing(context_); !reason.empty()) {
            skip(exercise.name, trials.size(), "all cases: " + reason);
            return;
        }
        try_all(on_stand_in(program), &exercise, trials);
        // on a GPU what is right; what is wrong may take its driver down, and has been refused already
        std::erase_if(trials, [](const Trial& trial) { return trial.what.starts_with("mutant"); });
        try_all(program, &exercise, trials);
    }

    void self_test(const SelfTest& self_test) {
        std::vector<Trial> trials;
        add(trials, "case", read_cases(context_, self_test.cases));
        try_all(program_of(self_test), nullptr, trials);
    }

    int end() const {
        fmt::print("\n{} passed, {} failed, {} skipped\n", passed_, failed_, skipped_);
        return failed_ > 0    ? exit_status::kFailed
               : skipped_ > 0 ? exit_status::kSkipped
                              : exit_status::kDone;
    }

  private:
    static void add(
        std::vector<Trial>& trials, const std::string& kind, const std::vector<Case>& cases
    ) {
        for (const Case& one : cases) {
            trials.push_back({one, kind + " " + one.file.stem().string(), 1});
        }
    }

    fs::path write_stub(const Exercise& exercise) const {
        fs::path file = context_.build_folder() / "check" / (exercise.name + "_stub.cpp");
        fs::create_directories(file.parent_path());
        std::ofstream(file) << committed_stub(context_, exercise);
        return file;
    }

    void line(bool good, const std::string& name, const std::string& what) {
        ++(good ? passed_ : failed_);
        const std::string word =
            paint(good ? "pass" : "FAIL", good ? Colour::green : Colour::red, use_colours());
        fmt::print("  {} {:<20} {}\n", word, name, what);
        std::fflush(stdout);
    }

    void skip(const std::string& name, std::size_t trials, const std::string& why) {
        skipped_ += static_cast<int>(trials);
        fmt::print("  {} {:<20} {}\n", paint("skip", Colour::yellow, use_colours()), name, why);
        std::fflush(stdout);
    }

    /// A difference that no longer applies is a trial that failed, and the others can still be tried.
    Built build_trial(const Recipe& recipe, const Trial& trial) const {
        try {
            return build_as(context_, recipe, context_.root / trial.expected.file);
        } catch (const UsageError& error) {
            Built built;
            built.error = error.what();
            return built;
        }
    }

    /// Compiles some files at a time; each stands in the place of the program's source.
    std::vector<Built> build_all(const Recipe& recipe, const std::vector<Trial>& trials) const {
        std::vector<Built> built(trials.size());
        std::atomic<std::size_t> next = 0;
        std::vector<std::future<void>> workers;
        workers.reserve(kBuildsAtATime);
        for (int i = 0; i < kBuildsAtATime; ++i) {
            workers.push_back(std::async(std::launch::async, [&] {
                for (std::size_t t = next++; t < trials.size(); t = next++) {
                    built[t] = build_trial(recipe, trials[t]);
                }
            }));
        }
        for (std::future<void>& worker : workers) {
            worker.get();
        }
        return built;
    }

    void try_all(
        const Program& program, const Exercise* exercise, const std::vector<Trial>& trials
    ) {
        Recipe recipe;
        try {
            recipe = prepare(context_, program);
        } catch (const UsageError& error) {
            skip(program.name, trials.size(), error.what());
            return;
        } catch (const Interrupted&) {
            throw;
        } catch (const CommandError& error) {  // the others can still be tried
            line(false, program.name, fmt::format("its test does not build\n{}", error.what()));
            return;
        }
        const std::vector<Built> built = build_all(recipe, trials);
        for (std::size_t t = 0; t < trials.size(); ++t) {
            if (!built[t].ok && built[t].log.empty()) {
                line(false, program.name, fmt::format("{}: {}", trials[t].what, built[t].error));
                continue;
            }
            for (int seed = 1; seed <= trials[t].seeds; ++seed) {
                LaunchOptions options;
                options.seed = static_cast<std::uint64_t>(seed);
                const fs::path& file = trials[t].expected.file;
                const Result result = run_built(context_, program, built[t], options, file);
                judge_trial(program, exercise, trials[t], result);
            }
        }
    }

    void judge_trial(
        const Program& program, const Exercise* exercise, const Trial& trial, const Result& result
    ) {
        const std::string seed =
            trial.seeds > 1 ? fmt::format(", seed {}", result.seed) : std::string();
        const std::string where = program.on_stand_in ? ", on the stand-in"
                                  : program.for_gpu() ? ", on a GPU"
                                                      : "";
        const std::string what = trial.what + seed + where;
        if (result.status == State::skipped && program.for_gpu()) {
            skip(program.name, 1, what + ": " + result.message);
            return;
        }
        const std::string text = report(result, exercise, false);
        std::string wrong;
        if (result.status != trial.expected.state) {
            wrong =
                fmt::format("is {}, not {}", name_of(result.status), name_of(trial.expected.state));
        }
        for (const std::string& words : trial.expected.says) {
            if (wrong.empty() && text.find(words) == std::string::npos) {
                wrong = fmt::format("its report does not say '{}'", words);
            }
        }
        const std::string good = fmt::format("{}: {}", what, name_of(result.status));
        line(wrong.empty(), program.name, wrong.empty() ? good : what + " " + wrong);
        if (!wrong.empty()) {
            fmt::print("{}\n", text);
        }
    }

    Context& context_;
    const Arguments& arguments_;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

int check_command(Context& context, const Arguments& arguments) {
    const Manifest manifest = read_manifest(context.root);
    const auto asked = [&](const std::string& name) {
        return std::find(arguments.names.begin(), arguments.names.end(), name) !=
               arguments.names.end();
    };
    const auto is_self_test = [&](const std::string& name) {
        return std::any_of(
            manifest.self_tests.begin(), manifest.self_tests.end(),
            [&](const SelfTest& test) { return test.program == name; }
        );
    };
    for (const std::string& name : arguments.names) {
        if (!is_self_test(name)) {
            static_cast<void>(manifest.find(name));
        }
    }
    Check check(context, arguments);
    for (const SelfTest& self_test : manifest.self_tests) {
        if (asked(self_test.program) || (arguments.names.empty() && arguments.mutants)) {
            check.self_test(self_test);
        }
    }
    for (const Exercise& exercise : manifest.exercises) {
        if (arguments.names.empty() || asked(exercise.name)) {
            check.exercise(exercise);
        }
    }
    return check.end();
}

}  // namespace

void add_check(Command& app, Context& context) {
    auto command = app.add_subcommand("check", "For authors: prove stubs, solutions and tests");
    auto arguments = std::make_shared<Arguments>();
    command.add_option("NAME", arguments->names, "Exercises; without them, all");
    command.add_flag("--mutants", arguments->mutants, "Also every known wrong answer");
    command.add_option("--seeds", arguments->seeds, "Seeds that each solution runs with")
        .between(1, 1000);
    command.callback([&context, arguments] { context.status = check_command(context, *arguments); }
    );
}

}  // namespace dist::cli
