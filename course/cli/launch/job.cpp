#include "course/cli/launch/job.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "course/cli/judge/deaths.hpp"
#include "course/cli/launch/plan.hpp"
#include "course/cli/launch/run_folder.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/mpirun.hpp"
#include "course/cli/process/room.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

/// Whether nothing more can come of a job. mpirun may fail to notice: Open MPI 5.0.7 waits for ever, now
/// and then, after a rank was killed, and 4.1 after MPI could not start on one.
class Stuck {
  public:
    Stuck(const harness::Board& board, int ranks) : board_(board), ranks_(ranks) {}

    bool operator()() {
        if (!seen([](const harness::Slot& slot) { return slot.planned != 0; }) &&
            gone(begin_) > kStart) {
            return true;
        }
        const bool all_ended =
            !seen([](const harness::Slot& slot) { return slot.end == harness::End::none; });
        if (board_.died == 0 && !all_ended) {
            return false;
        }
        over_since_ = over_since_.value_or(Clock::now());
        return gone(*over_since_) > kPatience;
    }

  private:
    static constexpr auto kStart =
        std::chrono::seconds(60);  // of the first rank; a second is usual
    static constexpr auto kPatience = std::chrono::seconds(8);

    static Clock::duration gone(Clock::time_point since) { return Clock::now() - since; }
    /// Whether any rank is so.
    template <class Predicate>
    [[nodiscard]] bool seen(Predicate is_so) const {
        return std::any_of(board_.slot, board_.slot + ranks_, is_so);
    }

    const harness::Board& board_;
    int ranks_;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> over_since_;
};

/// Rank 0 is in every test; between two of them nothing new is told.
void tell(const Context& context, const harness::Board& board) {
    const char* const test = board.slot[0].test;
    const std::string_view name(test, strnlen(test, sizeof board.slot[0].test));
    const bool started = board.slot[0].pid != 0;
    if (context.running && !(started && name.empty())) {
        context.running(started ? name : "starting the processes");
    }
}

/// What nobody knows before.
harness::Secret draw_secret(const LaunchOptions& options) {
    std::random_device device;
    const auto number = [&] { return std::uint64_t{device()} << 32U | device(); };
    return harness::Secret::of(number(), number(), number(), options.seed, options.garble);
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
    if (options.ranks > 0) {
        environment.emplace_back(harness::kEnvRanks, std::to_string(options.ranks));
    }
    if (!options.test.empty()) {
        environment.emplace_back(harness::kEnvTest, options.test);
    }
    if (options.many) {
        environment.emplace_back(harness::kEnvMany, "1");
    }
    if (options.delays) {
        environment.emplace_back(harness::kEnvDelays, "1");
    }
    if (options.trace) {
        environment.emplace_back(harness::kEnvTrace, "1");
    }
    if (options.enough) {
        environment.emplace_back(harness::kEnvUntilFailure, "1");
    }
    if (options.compute_s > 0) {
        environment.emplace_back(harness::kEnvComputeS, fmt::format("{}", options.compute_s));
    }
    if (!after.empty()) {
        environment.emplace_back(harness::kEnvAfter, after);
    }
    return environment;
}

/// The verdict on a job that had no chance.
Verdict not_started(int ranks, const std::string& reason) {
    Verdict verdict;
    TestResult& test = verdict.tests.emplace_back();
    test.name = "MPI can start";
    test.planned = false;
    test.ranks = ranks;
    test.status = State::harness_error;
    test.message = reason;
    return verdict;
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
    const int ranks = options.ranks > 0 ? options.ranks
                      : options.many    ? harness::kManyRanks
                                        : program.ranks;
    if (const std::string reason = missing_room(ranks, run_folders(context)); !reason.empty()) {
        return not_started(ranks, reason);
    }
    const RunFolder folder(context, options.keep);
    const BoardFile board(folder.path());
    std::vector<std::string> command = mpirun(ranks, Purpose::test);
    command.push_back((context.build_folder() / "tests/rank_proxy").string());
    command.push_back(fs::absolute(executable).string());
    RunOptions run_options;
    // not the repository: code under test may write files there, or clear it
    run_options.folder = folder.path() / "work";
    fs::create_directory(run_options.folder);
    const harness::Secret secret = draw_secret(options);
    std::ofstream(folder.path() / "secret", std::ios::binary)
        .write(reinterpret_cast<const char*>(&secret), sizeof secret);
    run_options.environment = job_environment(program, ranks, folder.path(), options, after);
    // Open MPI 5: one mpirun found the folder that all share being made by another, and did not start
    run_options.environment.emplace_back("PRTE_MCA_prte_tmpdir_base", folder.path().string());
    const std::string shared =
        options.sandbox != nullptr ? kSandboxShared : folder.shared().string();
    if (!shared.empty()) {
        run_options.environment.emplace_back(harness::kEnvShared, shared);
        run_options.environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", shared);  // 4
        run_options.environment.emplace_back("OMPI_MCA_btl_sm_backing_directory", shared);     // 5
    }
    run_options.time_limit_s = options.wall_limit_s;
    run_options.watch = [&](const std::string&, double) { tell(context, *board); };
    run_options.over = Stuck(*board, ranks);
    if (options.sandbox != nullptr) {
        Sandbox sandbox = *options.sandbox;
        sandbox.readable.push_back(context.build_folder() / "tests/rank_proxy");
        sandbox.readable.push_back(fs::absolute(executable));
        sandbox.writable.push_back(folder.path());
        run_options.environment.emplace_back(harness::kEnvClosed, "1");
        if (program.needs == "mpi") {
            run_options.environment.emplace_back(harness::kEnvNoNewCode, "1");
        }
        command = sandboxed(command, sandbox, run_options.environment, run_options.folder);
        run_options.environment.clear();
        run_options.folder = context.root;
    }
    const Ended ended = run(context, command, run_options);
    Job job;
    job.folder = folder.path();
    for (int r = 0; r < ranks; ++r) {
        job.logs.push_back(read_rank_log(folder.path(), r, secret.nonce().data()));
    }
    const std::vector<PlannedTest> tests = tests_in(context.root / test_file_of(program));
    if (program.vetted) {
        job.plan = plan_of(tests, options, after);
    }
    job.board = &*board;
    job.status = ended.status;
    job.output = ended.output;
    job.timed_out = ended.timed_out;
    job.killed = ended.killed;
    job.called_off = ended.called_off;
    // a sandbox ends what is in it, and is gone a moment after that
    job.left_processes = options.sandbox != nullptr ? 0 : ended.left_processes;
    job.wall_limit_s = options.wall_limit_s;
    Verdict verdict = judge(job);
    if (program.vetted && !options.many && options.ranks != harness::kManyRanks) {
        LaunchOptions on_many = options;
        on_many.many = true;
        verdict.many = static_cast<int>(plan_of(tests, on_many, "").size());
    }
    if (!fs::exists(folder.path() / "board")) {
        verdict = Verdict{{explain_no_folder(job)}, "", false};
    } else if (!verdict.planned) {
        verdict.tests.push_back(explain_no_plan(job));
    } else if (job.left_processes > 0 && overall(verdict.tests) == State::pass) {
        verdict.tests.push_back(explain_left(job));
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
