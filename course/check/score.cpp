#include "course/check/score.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "course/build/build.hpp"
#include "course/build/lines.hpp"
#include "course/check/changes.hpp"
#include "course/check/series.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/shared_job.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/subprocess.hpp"
#include "course/process/workers.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct Scored {
    std::string name;
    std::size_t tried = 0;
    std::size_t equal = 0;
    std::vector<SingleChange> survivors;
    std::string skipped;  // why it cannot be scored on this machine
    std::string error;    // why it cannot be scored at all
    double seconds = 0;
};

/// A change that compiles, or the reference.
struct Answer {
    SingleChange change;
    fs::path file;
    std::string code;  // its object, without debug information; empty: it does not compile
    Built built;
};

/// The score of one exercise.
class Score {
  public:
    Score(Context& context, const Exercise& exercise, const ScoreOptions& options, SharedJobs& jobs)
        : context_(context), exercise_(exercise), options_(options), jobs_(jobs) {}

    Scored find() {
        const auto begin = std::chrono::steady_clock::now();
        scored_.name = exercise_.name;
        SeriesOptions no_stub;
        no_stub.stubs = false;
        series_ = series_of(context_, exercise_, no_stub).front();
        scored_.skipped = series_.not_here;
        try {
            if (scored_.skipped.empty()) {
                find_all();
            }
        } catch (const Interrupted&) {
            throw;
        } catch (const CommandError& error) {
            scored_.error = error.what();
        }
        scored_.seconds = seconds_since(begin);
        return scored_;
    }

  private:
    void find_all() {
        const std::set<std::string> equal = equal_programs(context_, exercise_);
        const std::vector<SingleChange> changes = changes_of(context_, exercise_, options_.seed);
        recipe_ = prepare(context_, series_.program);
        if (!series_.host.empty()) {
            build_targets(context_, {series_.host});
        }
        const fs::path solution = exercise_.solution();
        const std::string text = read_text(context_.root / solution);
        const Answer reference = compile(change_of(solution, text, text), 0);
        if (State state = try_out(reference); state != State::pass) {
            scored_.error = fmt::format("its solution does not pass: {}", name_of(state));
            return;
        }
        const std::vector<Answer> answers = sample(changes, equal, reference);
        std::vector<State> states(answers.size());
        on_threads(
            busy_threads(), answers.size(), [&](std::size_t i) { states[i] = try_out(answers[i]); },
            [&](std::size_t i) {
                ++scored_.tried;
                if (states[i] == State::pass) {
                    scored_.survivors.push_back(answers[i].change);
                    progress_.clear();
                    print_survivor(answers[i].change);
                }
                show(fmt::format("{} of {} changes tried", scored_.tried, answers.size()));
            }
        );
    }

    /// The first of `changes` that are other programs.
    std::vector<Answer> sample(
        const std::vector<SingleChange>& changes,
        const std::set<std::string>& equal,
        const Answer& reference
    ) {
        std::vector<Answer> answers;
        std::set<std::string> known = {"", reference.code};
        const auto wanted = static_cast<std::size_t>(options_.sample);
        for (std::size_t next = 0; next < changes.size() && answers.size() < wanted;) {
            const std::span<const SingleChange> some = std::span(changes).subspan(
                next, std::min(wanted - answers.size(), changes.size() - next)
            );
            std::vector<Answer> compiled(some.size());
            on_threads(
                busy_threads(), some.size(),
                [&](std::size_t i) {
                    if (!equal.contains(some[i].text)) {
                        compiled[i] = compile(some[i], next + i + 1);
                    }
                },
                [&](std::size_t i) {
                    Answer& answer = compiled[i];
                    if (equal.contains(some[i].text)) {
                        ++scored_.equal;
                    } else if (known.insert(answer.code).second) {
                        answers.push_back(std::move(answer));
                    }
                    show(fmt::format("{} of {} changes compiled", answers.size(), wanted));
                }
            );
            next += some.size();
        }
        return answers;
    }

    /// Each source has the same name, wherever it lies.
    Answer compile(const SingleChange& change, std::size_t place) {
        const fs::path folder =
            context_.build_folder() / "score" / exercise_.name / fmt::format("{}", place);
        fs::create_directories(folder);
        Answer answer{change, folder / exercise_.solution().filename(), {}, {}};
        std::ofstream(answer.file) << change.text;
        Recipe recipe = recipe_;
        recipe.compile = replaced(
            recipe.compile, " -c ", fmt::format(" -fmacro-prefix-map={}/= -c ", folder.string())
        );
        answer.built = compile_as(context_, recipe, answer.file);
        if (!answer.built.object.empty()) {
            const fs::path code = folder / "code.o";
            run(context_,
                {"objcopy", "--strip-debug",
                 (context_.build_folder() / answer.built.object).string(), code.string()});
            answer.code = read_text(code);
        }
        return answer;
    }

    /// The state of its test, which ends with the first failure. What passes beside others has to pass alone.
    State try_out(const Answer& answer) {
        const bool shared = !series_.host.empty();
        Built built = shared ? link_library(context_, recipe_, answer.built) : answer.built;
        LaunchOptions options;
        options.rest_limit_s = kRestS;
        options.enough = [](const Result&) { return true; };
        if (built.ok) {
            options.jobs = &jobs_;
            const Result result = run_built(context_, series_.program, built, options, answer.file);
            if (result.status != State::pass) {
                return result.status;
            }
            options.jobs = nullptr;
        }
        built = link_program(context_, recipe_, answer.built);
        return run_built(context_, series_.program, built, options, answer.file).status;
    }

    /// At once: hours may be left, and somebody may end them.
    void print_survivor(const SingleChange& change) {
        std::FILE* const out = context_.json ? stderr : stdout;
        fmt::print(
            out, "{}:{} passes all tests, changed:\n{}\n", exercise_.solution().string(),
            change.line, change.difference
        );
        std::fflush(out);
    }

    void show(const std::string& what) {
        progress_.show(fmt::format("{}: {}", exercise_.name, what));
    }

    Context& context_;
    const Exercise& exercise_;
    const ScoreOptions& options_;
    SharedJobs& jobs_;
    Series series_;
    Recipe recipe_;
    Scored scored_;
    ProgressLine progress_;
};

void print(std::FILE* out, const Scored& scored) {
    if (const std::string& why = scored.error + scored.skipped; !why.empty()) {
        fmt::print(out, "{}: {}{}\n", scored.name, scored.error.empty() ? "skipped: " : "", why);
    } else {
        fmt::print(
            out, "{}: {} of {} changes refused, {} equal left out [{:.0f} s]\n", scored.name,
            scored.tried - scored.survivors.size(), scored.tried, scored.equal, scored.seconds
        );
    }
    std::fflush(out);
}

nlohmann::ordered_json json_of(const Exercise& exercise, const Scored& scored) {
    nlohmann::ordered_json survivors = nlohmann::ordered_json::array();
    for (const SingleChange& change : scored.survivors) {
        survivors.push_back(
            {{"file", exercise.solution().string()},
             {"line", change.line},
             {"difference", change.difference}}
        );
    }
    return {
        {"name", scored.name},
        {"tried", scored.tried},
        {"refused", scored.tried - scored.survivors.size()},
        {"equal", scored.equal},
        {"survivors", survivors},
        {"message", scored.error + scored.skipped},
        {"seconds", scored.seconds}};
}

}  // namespace

int score(
    Context& context, const std::vector<const Exercise*>& exercises, const ScoreOptions& options
) {
    std::FILE* const out = context.json ? stderr : stdout;
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    std::size_t tried = 0;
    std::size_t survivors = 0;
    std::size_t equal = 0;
    int failed = 0;
    int skipped = 0;
    if (const std::string missing = mutator_missing(context); !missing.empty()) {
        fmt::print(stderr, "check --score: {}\n", missing);
        skipped = 1;
    } else {
        SharedJobs jobs(context);
        for (const Exercise* exercise : exercises) {
            const Scored scored = Score(context, *exercise, options, jobs).find();
            print(out, scored);
            list.push_back(json_of(*exercise, scored));
            tried += scored.tried;
            survivors += scored.survivors.size();
            equal += scored.equal;
            failed += scored.error.empty() ? 0 : 1;
            skipped += scored.skipped.empty() ? 0 : 1;
        }
    }
    if (context.json) {
        const nlohmann::ordered_json document = {
            {"passed", tried - survivors}, {"failed", failed}, {"skipped", skipped},
            {"survivors", survivors},      {"equal", equal},   {"exercises", list}};
        fmt::print("{}\n", document.dump());
    } else if (exercises.size() > 1 && skipped == 0) {
        fmt::print(
            "{} of {} changes refused, {} equal left out\n", tried - survivors, tried, equal
        );
    }
    return survivors > 0 || failed > 0 ? exit_status::kFailed
           : skipped > 0               ? exit_status::kSkipped
                                       : exit_status::kDone;
}

}  // namespace dist::cli
