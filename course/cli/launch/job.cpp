#include "course/cli/launch/job.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "course/cli/judge/ended.hpp"
#include "course/cli/launch/leftovers.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/mpirun.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// A folder for one job; goes when it is done, whatever happened.
class RunFolder {
  public:
    RunFolder(const Context& context, bool keep) : keep_(keep) {
        static std::atomic<int> number = 0;
        path_ = context.build_folder() / "runs" / fmt::format("{}-{}", getpid(), ++number);
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~RunFolder() {
        std::error_code ignored;
        if (keep_) {
            fmt::print(stderr, "  kept: {}\n", path_.string());
        } else {
            fs::remove_all(path_, ignored);
        }
    }
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
    bool keep_;
};

using Clock = std::chrono::steady_clock;

/// Whether all ranks have ended for some time. mpirun may fail to notice: Open MPI 5.0.7 waits for ever,
/// now and then, after a rank was killed.
bool all_have_ended(
    const harness::Board& board, int ranks, std::optional<Clock::time_point>& since
) {
    constexpr auto kPatience = std::chrono::seconds(10);
    for (int r = 0; r < ranks; ++r) {
        if (board.slot[r].end == harness::End::none) {
            return false;
        }
    }
    since = since.value_or(Clock::now());
    return Clock::now() - *since > kPatience;
}

/// Rank 0 is in every test; between two of them nothing new is told.
void tell(const Context& context, const harness::Board& board) {
    const char* const test = board.slot[0].test;
    const std::string_view name(test, strnlen(test, sizeof board.slot[0].test));
    const bool started = board.slot[0].pid != 0;
    if (context.running && !(started && name.empty())) {
        context.running(started ? name : "starting the processes");
    }
}

Environment job_environment(
    const Program& program,
    int ranks,
    const fs::path& folder,
    const LaunchOptions& options,
    const std::string& after
) {
    Environment environment = mpi_environment(ranks, Purpose::test);
    if (program.for_gpu() && !program.on_stand_in) {
        // CUDA and NCCL need much of both to start, and a rank that waits for its GPU computes; NCCL's
        // watchdog is there for the rest
        environment.emplace_back(harness::kEnvMemoryMb, "16384");
        environment.emplace_back(harness::kEnvComputeS, "200");
        for (auto& [name, value] : environment) {
            // CUDA maps memory where AddressSanitizer would have a gap
            value += name == "ASAN_OPTIONS" ? ":protect_shadow_gap=0" : "";
        }
    }
    environment.emplace_back(harness::kEnvFolder, folder.string());
    environment.emplace_back(harness::kEnvSeed, std::to_string(options.seed));
    if (options.ranks > 0) {
        environment.emplace_back(harness::kEnvRanks, std::to_string(options.ranks));
    }
    if (!options.test.empty()) {
        environment.emplace_back(harness::kEnvTest, options.test);
    }
    if (options.delays) {
        environment.emplace_back(harness::kEnvDelays, "1");
    }
    if (options.compute_s > 0) {
        environment.emplace_back(harness::kEnvComputeS, fmt::format("{}", options.compute_s));
    }
    if (!after.empty()) {
        environment.emplace_back(harness::kEnvAfter, after);
    }
    return environment;
}

}  // namespace

void expect_rank_count(int ranks) {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (ranks < 1 || ranks > harness::kMaxRanks) {
        throw UsageError(fmt::format("-n {}: a run has 1 to {} ranks", ranks, harness::kMaxRanks));
    }
    if (ranks > 8 * cores) {
        throw UsageError(fmt::format(
            "-n {}: this machine has {} cores, enough for {} ranks (8 a core)", ranks, cores,
            8 * cores
        ));
    }
}

Verdict run_job(
    Context& context,
    const Program& program,
    const fs::path& executable,
    const LaunchOptions& options,
    const std::string& after
) {
    const int ranks = options.ranks > 0 ? options.ranks : program.ranks;
    const RunFolder folder(context, options.keep);
    const BoardFile board(folder.path());
    Ended ended;
    {
        const Leftovers leftovers(folder.path());
        std::vector<std::string> command = mpirun(ranks, Purpose::test);
        command.push_back(fs::absolute(executable).string());
        RunOptions run_options;
        // not the repository: code under test may write files there, or clear it
        run_options.folder = folder.path() / "work";
        fs::create_directory(run_options.folder);
        run_options.environment = job_environment(program, ranks, folder.path(), options, after);
        run_options.time_limit_s = options.wall_limit_s;
        run_options.watch = [&](const std::string&, double) { tell(context, *board); };
        run_options.over = [&board, ranks, since = std::optional<Clock::time_point>()]() mutable {
            return all_have_ended(*board, ranks, since);
        };
        ended = run(context, command, run_options);
    }
    Job job;
    job.folder = folder.path();
    for (int r = 0; r < ranks; ++r) {
        job.logs.push_back(read_rank_log(folder.path(), r));
    }
    job.board = &*board;
    job.status = ended.status;
    job.output = ended.output;
    job.timed_out = ended.timed_out;
    job.wall_limit_s = options.wall_limit_s;
    Verdict verdict = judge(job);
    if (!verdict.planned) {
        verdict.tests.push_back(explain_no_plan(job));
    }
    double tests_s = 0;
    for (const TestResult& test : verdict.tests) {
        tests_s += test.duration_s;
    }
    context.spend("start", std::max(0.0, ended.seconds - tests_s));
    context.spend("tests", tests_s);
    return verdict;
}

}  // namespace dist::cli
