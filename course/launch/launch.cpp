#include "course/launch/launch.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "course/build/changed.hpp"
#include "course/judge/addresses.hpp"
#include "course/judge/verdict.hpp"
#include "course/launch/job.hpp"
#include "course/launch/plan.hpp"
#include "course/launch/shared_job.hpp"
#include "course/process/error.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kShortest = 0.1;     // seconds
constexpr double kSecondLoopS = 1.5;  // a file that loops once likely does so in every test

[[noreturn]] void refuse_test_name(
    const Context& context, const Program& program, const std::string& text
) {
    std::string line =
        fmt::format("no test of {} has '{}' in its name; there are:", program.name, text);
    for (const PlannedTest& test : tests_in(context.root / test_file_of(program))) {
        line += "\n  " + test.name;
    }
    throw UsageError(line);
}

/// The command that runs exactly this test again: with all ranks that the job had, from the test's first
/// world to the one that failed. -n would make another run of it: fewer ranks, one world.
std::string repro_of(
    const Context& context,
    const Result& result,
    const TestResult& test,
    const LaunchOptions& options
) {
    std::vector<std::string> words = {"./shardlings"};
    if (context.preset != Context().preset) {
        words.insert(words.end(), {"--preset", context.preset});
    }
    words.insert(words.end(), {"run", result.exercise});
    if (!result.as.empty()) {
        words.insert(words.end(), {"--as", result.as});
    }
    if (options.ranks > 0) {
        words.insert(words.end(), {"-n", std::to_string(options.ranks)});
    }
    words.insert(words.end(), {"--seed", std::to_string(options.seed)});
    if (test.planned) {
        words.insert(words.end(), {"--test", test.name});
    }
    if (result.on_stand_in) {
        words.emplace_back("--stand-in");
    }
    if (options.delays) {
        words.emplace_back("--delays");
    }
    return shell_line(words);
}

bool none_failed(const std::vector<TestResult>& tests) {
    return std::all_of(tests.begin(), tests.end(), [](const TestResult& test) {
        return test.status == State::pass || test.status == State::skipped;
    });
}

}  // namespace

Result result_of(const Program& program, const LaunchOptions& options, const fs::path& as) {
    Result result;
    result.exercise = program.name;
    result.source = as.empty() ? program.source.string() : as.string();
    result.as = as.string();
    result.on_stand_in = program.on_stand_in;
    result.partial = options.ranks > 0 || !options.test.empty();
    result.seed = options.seed;
    result.started_at = utc_now();
    return result;
}

void complete(
    const Context& context,
    const fs::path& executable,
    const fs::path& as,
    const LaunchOptions& options,
    Result& result
) {
    const fs::path source = as.empty() ? context.root / result.source : source_of(context, as);
    locate(context, executable, source, result.tests);
    for (TestResult& test : result.tests) {
        test.repro = repro_of(context, result, test, options);
    }
    result.status = overall(result.tests);
}

Result launch(
    Context& context,
    const Program& program,
    const fs::path& executable,
    const fs::path& as,
    const LaunchOptions& options
) {
    expect_rank_count(options.ranks > 0 ? options.ranks : program.ranks);
    const auto begin = std::chrono::steady_clock::now();
    Result result = result_of(program, options, as);
    LaunchOptions rest = options;
    std::string after;
    bool many = false;
    auto failed_at = std::chrono::steady_clock::time_point::max();  // a test, first
    do {
        if (rest.rest_limit_s > 0 && std::chrono::steady_clock::now() > failed_at) {
            rest.rest_limit_s =
                std::max(kShortest, options.rest_limit_s - seconds_since(failed_at));
        }
        Verdict verdict = rest.jobs != nullptr ? rest.jobs->run(program, executable, rest, after)
                                               : run_job(context, program, executable, rest, after);
        // each job has at least one test less to run; one that brings nothing would do so for ever
        after = verdict.tests.empty() || !verdict.planned ? "" : verdict.rest_after;
        if (!verdict.tests.empty() && verdict.tests.back().status == State::time_limit) {
            rest.compute_s = kSecondLoopS;
        }
        result.tests.insert(
            result.tests.end(), std::make_move_iterator(verdict.tests.begin()),
            std::make_move_iterator(verdict.tests.end())
        );
        if (result.first_failed() != nullptr) {
            failed_at = std::min(failed_at, std::chrono::steady_clock::now());
        }
        // processes cost time: the job on many ranks is for what is right on few
        many = after.empty() && !rest.many && verdict.many > 0 && options.ranks == 0 &&
               none_failed(result.tests);
        rest.many = rest.many || many;
        const bool ask = rest.enough && result.first_failed() != nullptr;
        if (ask || (after.empty() && !many)) {
            complete(context, executable, as, options, result);
        }
        if (ask && !after.empty()) {
            after = options.enough(result) ? "" : after;
            rest.enough = nullptr;  // a later test has to tell: all of them, then
        }
    } while (!after.empty() || many);
    if (result.tests.empty() && !options.test.empty()) {
        refuse_test_name(context, program, options.test);
    }
    if (result.status == State::skipped && result.passed() == 0) {
        result.message = result.tests.front().message;  // why nothing ran
    }
    result.duration_s = seconds_since(begin);
    return result;
}

}  // namespace dist::cli
