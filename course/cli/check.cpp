// check: the author's proof that stubs, solutions and tests are what they claim to be.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <future>
#include <memory>
#include <span>

#include "course/check/cost.hpp"
#include "course/check/replay.hpp"
#include "course/check/score.hpp"
#include "course/check/series.hpp"
#include "course/check/show.hpp"
#include "course/check/tally.hpp"
#include "course/check/trials.hpp"
#include "course/check/verdicts.hpp"
#include "course/cli/command.hpp"
#include "course/grade/evidence.hpp"
#include "course/launch/launch.hpp"
#include "course/launch/shared_job.hpp"
#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/workers.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

struct CheckArguments {
    std::vector<std::string> names;
    std::string share = "1/1";
    SeriesOptions series;
    HowToRun how;
    std::string mutant;
    bool show = false;
    bool right = false;
    bool replay = false;
    bool cost = false;
    bool fresh = false;
    bool score = false;
    int sample = 0;  // 0: as many as ScoreOptions says
};

std::string in_part(const Result& result) {
    return fmt::format(
        "pass, in {} of {} tests; the rest is for other numbers of ranks", result.passed(),
        result.tests.size()
    );
}

class Check {
  public:
    Check(Context& context, const CheckArguments& arguments)
        : context_(context),
          arguments_(arguments),
          tally_(context.json ? stderr : stdout),
          verdicts_(context, arguments.fresh || arguments.replay || arguments.series.alone),
          jobs_(context) {}

    /// The next series is built while the tests of this one run.
    void all(const std::vector<Series>& series) {
        for (const Series& one : series) {
            trials_ += one.not_here.empty() ? one.trials.size() : 0;
            tally_.leave_out(one.left_out);
        }
        const auto start = [&](std::size_t i) {
            return std::async(std::launch::async, [&, i] {
                if (i % kAhead == 0) {
                    const std::span<const Series> rest = std::span(series).subspan(i);
                    build_ahead(context_, rest.first(std::min(kAhead, rest.size())));
                }
                return build(series[i]);
            });
        };
        std::future<BuiltSeries> next;
        for (std::size_t i = 0; i < series.size(); ++i) {
            progress(series[i].program.name);
            const BuiltSeries built = next.valid() ? next.get() : start(i).get();
            if (i + 1 < series.size()) {
                next = start(i + 1);
            }
            const auto begin = Clock::now();
            try_all(series[i], built);
            tally_.took(series[i].program.name, built.seconds, seconds_since(begin));
        }
    }

    int end() {
        progress_.clear();
        if (context_.json) {
            fmt::print("{}\n", tally_.document(context_));
        } else {
            tally_.print(context_);
        }
        return tally_.status();
    }

  private:
    using Clock = std::chrono::steady_clock;

    /// The tests of so many exercises are built by one call of the build tool: one would keep one core busy.
    static constexpr std::size_t kAhead = 4;

    BuiltSeries build(const Series& series) {
        const auto holds = [&](const Recipe& recipe, const Trial& trial) {
            try {
                return verdicts_.hold(basis_of(context_, recipe, trial, arguments_.how));
            } catch (const UsageError&) {  // a change that no longer applies: told when it is built
                return false;
            }
        };
        // right answers run together, since their checks are compared
        return cli::build(context_, series, [&](const Recipe& recipe, const Trial& trial) {
            return holds(recipe, trial) &&
                   (trial.expected.state != State::pass ||
                    std::ranges::all_of(series.trials, [&](const Trial& other) {
                        return other.expected.state != State::pass || holds(recipe, other);
                    }));
        });
    }

    void progress(const std::string& name) {
        progress_.show(fmt::format(
            "{} of {} trials, {} left: {}", done_, trials_,
            time_left(seconds_since(begin_), done_, trials_), name
        ));
    }

    void try_all(const Series& series, const BuiltSeries& built) {
        const std::string& name = series.program.name;
        progress_.clear();
        if (series.exercise != nullptr &&
            !(series.program.for_gpu() && !series.program.on_stand_in && series.not_here.empty())) {
            tally_.line(series.missing.empty(), name, "is complete");
            for (const std::string& sentence : series.missing) {
                tally_.text("        " + sentence);
            }
        }
        if (!series.not_here.empty()) {
            tally_.skip(name, series.trials.size(), "all cases: " + series.not_here);
        } else if (built.skipped) {
            tally_.skip(name, series.trials.size(), built.error);
        } else if (!built.error.empty()) {  // the others can still be tried
            tally_.line(false, name, "its test does not build\n" + built.error);
        } else {
            progress(name);
            std::vector<Tried> tried(series.trials.size());
            std::vector<std::size_t> to_run;
            for (std::size_t t = 0; t < tried.size(); ++t) {
                if (built.unchanged[t]) {
                    tally_.unchanged(name, series.trials[t].what);
                    ++done_;
                } else {
                    to_run.push_back(t);
                }
            }
            const bool one_gpu = series.program.for_gpu() && !series.program.on_stand_in;
            on_threads(
                one_gpu ? 1 : busy_threads(), to_run.size(),
                [&](std::size_t i) {
                    const std::size_t t = to_run[i];
                    tried[t] = run_trial(context_, series, built, t, arguments_.how, jobs_);
                },
                [&](std::size_t i) {
                    judge(series, built, to_run[i], tried[to_run[i]]);
                    ++done_;
                    progress(name);
                }
            );
            compare_checks(series, built, tried);
        }
    }

    /// A grader takes fewer checks than the reference makes for a way past them: so each alternative makes as many.
    void compare_checks(
        const Series& series, const BuiltSeries& built, const std::vector<Tried>& tried
    ) {
        const auto reference = std::ranges::find(series.trials, "solution", &Trial::what);
        const auto place = static_cast<std::size_t>(reference - series.trials.begin());
        if (reference == series.trials.end() || tried[place].results.empty()) {
            return;
        }
        const Checks right = checks_of(tried[place].results[0]);
        for (std::size_t t = 0; t < tried.size(); ++t) {
            const Trial& trial = series.trials[t];
            if (t == place || trial.expected.state != State::pass || tried[t].results.empty() ||
                tried[t].results[0].status != State::pass) {
                continue;
            }
            const std::string other = other_checks(checks_of(tried[t].results[0]), right);
            if (!other.empty()) {
                progress_.clear();
                tally_.line(
                    false, series.program.name,
                    trial.what + " makes not as many checks as the solution: " + other
                );
                verdicts_.forget(basis_of(context_, built.recipe, trial, arguments_.how));
            }
        }
    }

    void judge(const Series& series, const BuiltSeries& built, std::size_t t, const Tried& tried) {
        const Trial& trial = series.trials[t];
        bool good = tried.error.empty() && !tried.results.empty();
        for (const Result& result : tried.results) {
            good = judge(series, trial, result) && good;
        }
        if (!tried.error.empty()) {
            progress_.clear();
            tally_.line(false, series.program.name, fmt::format("{}: {}", trial.what, tried.error));
            return;
        }
        Basis basis = basis_of(context_, built.recipe, trial, arguments_.how);
        if (good) {
            for (const auto& file : built.built[t].included) {
                basis.files.push_back(context_.build_folder() / file);
            }
            verdicts_.keep(basis);
        } else {
            verdicts_.forget(basis);
        }
    }

    /// Whether it is as expected.
    bool judge(const Series& series, const Trial& trial, const Result& result) {
        const Program& program = series.program;
        const std::string seed =
            trial.seeds > 1 ? fmt::format(", seed {}", result.seed) : std::string();
        const std::string where = program.on_stand_in ? ", on the stand-in"
                                  : program.for_gpu() ? ", on a GPU"
                                                      : "";
        const std::string what = trial.what + seed + where;
        progress_.clear();
        const bool for_others = result.partial && result.passed() == 0;  // numbers of ranks
        if (result.status == State::skipped && (program.for_gpu() || for_others)) {
            tally_.skip(program.name, 1, what + ": " + result.message);
            return false;
        }
        tally_.trial(program.name, what, result);
        const std::string text = report(result, series.exercise, false);
        std::string wrong = wrong_with(trial, result, text);
        if (wrong.empty() && arguments_.replay && series.exercise != nullptr) {
            wrong = replay(context_, result);
        }
        const std::string good = fmt::format(
            "{}: {}", what, right_in_part(result) ? in_part(result) : name_of(result.status)
        );
        tally_.line(wrong.empty(), program.name, wrong.empty() ? good : what + " " + wrong);
        if (!wrong.empty()) {
            tally_.text(text);
        }
        return wrong.empty();
    }

    Context& context_;
    const CheckArguments& arguments_;
    Tally tally_;
    Verdicts verdicts_;
    ProgressLine progress_;
    SharedJobs jobs_;
    Clock::time_point begin_ = Clock::now();
    std::size_t trials_ = 0;
    std::size_t done_ = 0;
};

/// What is wrong may be right on another number of ranks, and the harness's programs have theirs.
void keep_right(std::vector<Series>& series) {
    std::erase_if(series, [](const Series& one) { return one.exercise == nullptr; });
    for (Series& one : series) {
        std::erase_if(one.trials, [](const Trial& trial) { return trial.is_wrong(); });
    }
}

/// Errors  UsageError where none has the name
void keep_named(std::vector<Series>& series, const std::string& name) {
    std::vector<std::string> names;
    for (Series& one : series) {
        std::erase_if(one.trials, [&](const Trial& trial) {
            names.push_back(trial.expected.name);
            return trial.expected.name != name;
        });
    }
    std::erase_if(series, [](const Series& one) { return one.trials.empty(); });
    if (series.empty()) {
        const std::string near = nearest(name, names);
        throw UsageError(fmt::format(
            "--mutant {}: there is none{}", name,
            near.empty() ? "" : fmt::format(". Did you mean '{}'?", near)
        ));
    }
}

int check_command(Context& context, const CheckArguments& arguments) {
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
    std::vector<const Exercise*> exercises;
    for (const Exercise& exercise : manifest.exercises) {
        if (arguments.names.empty() || asked(exercise.name)) {
            exercises.push_back(&exercise);
        }
    }
    if (arguments.cost) {
        print_cost(context, exercises);
        return exit_status::kDone;
    }
    if (arguments.show && arguments.mutant.empty()) {
        throw UsageError("--show needs --mutant NAME");
    }
    if (!arguments.mutant.empty() && arguments.names.size() != 1) {
        throw UsageError("--mutant needs the one exercise that it belongs to");
    }
    if (arguments.score) {
        ScoreOptions options{.seed = arguments.how.first_seed};
        options.sample = arguments.sample > 0 ? arguments.sample : options.sample;
        return score(context, exercises, options);
    }
    if (arguments.sample > 0) {
        throw UsageError("--sample goes with --score");
    }
    SeriesOptions options = arguments.series;
    options.share = share_named(arguments.share);
    options.mutants = options.mutants || arguments.right || !arguments.mutant.empty();
    options.alone = options.alone || arguments.how.all_tests;
    std::vector<Series> series;
    for (const SelfTest& self_test : manifest.self_tests) {
        if (asked(self_test.program) || arguments.names.empty()) {
            series.push_back(series_of(context, self_test, options));
        }
    }
    for (const Exercise* exercise : exercises) {
        for (Series& one : series_of(context, *exercise, options)) {
            series.push_back(std::move(one));
        }
    }
    if (arguments.how.ranks > 0) {
        expect_rank_count(arguments.how.ranks);
    }
    if (arguments.how.ranks > 0 || arguments.right) {
        keep_right(series);
    }
    if (!arguments.mutant.empty()) {
        keep_named(series, arguments.mutant);
    }
    if (arguments.show) {
        show(context, series.front(), series.front().trials.front());
        return exit_status::kDone;
    }
    Check check(context, arguments);
    check.all(series);
    return check.end();
}

}  // namespace

void add_check(Command& app, Context& context) {
    auto command = app.add_subcommand("check", "For authors: prove stubs, solutions and tests");
    auto arguments = std::make_shared<CheckArguments>();
    command.add_option("NAME", arguments->names, "Exercises (default: all)");
    command.add_flag("--mutants", arguments->series.mutants, "Also try every known wrong answer");
    command.add_option(
        "--mutant", arguments->mutant, "Try only the wrong answer, or alternative, of this name"
    );
    command.add_flag(
        "--show", arguments->show,
        "With --mutant: print the difference that it is, and do not try it"
    );
    command.add_option(
        "--share", arguments->share,
        "Try only this share of the wrong answers and alternatives: 2/3, the second of three"
    );
    command.add_flag(
        "--right", arguments->right, "Try right answers alone: solutions and alternatives"
    );
    command.add_option("--seeds", arguments->series.seeds, "Number of seeds for each solution")
        .between(1, 1000);
    command.add_option(
        "--seed", arguments->how.first_seed,
        "First of these seeds; with --score it draws the sample (default: 1)"
    );
    command.add_option("-n", arguments->how.ranks, "Try only right answers, on this many ranks")
        .between(1, 64);
    command.add_flag("--delays", arguments->how.delays, "Delay MPI calls by the seed");
    command.add_flag(
        "!--no-stubs", arguments->series.stubs, "Leave out the stubs, which compute nothing"
    );
    command.add_flag(
        "--all-tests", arguments->how.all_tests,
        "Run all tests on wrong answers (default: only the one that must refuse them)"
    );
    command.add_flag(
        "--alone", arguments->series.alone,
        "Start a job for each answer (default: they share jobs that were started once)"
    );
    command.add_flag(
        "--replay", arguments->replay, "Also run the line that a failed run prints to repeat it"
    );
    command.add_flag(
        "--cost", arguments->cost, "Print the lines of each exercise by part, and nothing else"
    );
    command.add_flag(
        "--score", arguments->score,
        "Try single changes of the solution, of an operator, a number or a name, and print those "
        "that pass (universalmutator, from PyPI)"
    );
    command.add_option("--sample", arguments->sample, "With --score: so many of each exercise (40)")
        .between(1, 10000);
    command.add_flag(
        "--fresh", arguments->fresh,
        "Also run what is unchanged since it passed (always where CI is set)"
    );
    command.add_flag("--json", context.json, "One JSON document with the counts and the seconds");
    command.callback([&context, arguments] { context.status = check_command(context, *arguments); }
    );
}

}  // namespace dist::cli
