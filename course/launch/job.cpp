#include "course/launch/job.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "course/judge/deaths.hpp"
#include "course/launch/plan.hpp"
#include "course/process/error.hpp"
#include "course/process/room.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// What the processes left in `folder`.
Job read_job(
    const fs::path& folder,
    const harness::Board& board,
    const harness::Secret& secret,
    const LaunchOptions& options,
    int ranks,
    const Ended& ended
) {
    Job job;
    job.folder = folder;
    for (int r = 0; r < ranks; ++r) {
        job.logs.push_back(read_rank_log(folder, r, {secret.records, r}));
    }
    job.board = &board;
    job.status = ended.status;
    job.output = ended.output;
    job.timed_out = ended.timed_out;
    job.killed = ended.killed;
    job.called_off = ended.called_off;
    // a sandbox ends what is in it, and is gone a moment after that
    job.left_processes = options.sandbox != nullptr ? 0 : ended.left_processes;
    job.wall_limit_s = options.wall_limit_s;
    return job;
}

}  // namespace

void spend(Context& context, double all_s, const Verdict& verdict) {
    double tests_s = 0;
    for (const TestResult& test : verdict.tests) {
        tests_s += test.duration_s;
    }
    context.spend("start", std::max(0.0, all_s - tests_s));
    context.spend("tests", tests_s);
}

Verdict cannot_start(int ranks, const std::string& reason) {
    Verdict verdict;
    TestResult& test = verdict.tests.emplace_back();
    test.name = "MPI can start";
    test.planned = false;
    test.ranks = ranks;
    test.status = State::harness_error;
    test.message = reason;
    return verdict;
}

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

Verdict judge_job(
    const Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::string& after,
    const fs::path& folder,
    const harness::Board& board,
    const harness::Secret& secret,
    const Ended& ended,
    bool rest_over
) {
    Job job = read_job(folder, board, secret, options, ranks_of(program, options), ended);
    job.rest_over = rest_over;
    const std::vector<PlannedTest> tests = tests_in(context.root / test_file_of(program));
    if (program.vetted) {
        job.plan = plan_of(tests, options, after);
    }
    Verdict verdict = judge(job);
    if (program.vetted && !options.many && options.ranks != harness::kManyRanks) {
        LaunchOptions on_many = options;
        on_many.many = true;
        verdict.many = static_cast<int>(plan_of(tests, on_many, "").size());
    }
    if (!fs::exists(job.folder / "board")) {
        verdict = Verdict{{explain_no_folder(job)}, "", false};
    } else if (!verdict.planned) {
        verdict.tests.push_back(explain_no_plan(job));
    } else if (job.left_processes > 0 && overall(verdict.tests) == State::pass) {
        verdict.tests.push_back(explain_left(job));
    }
    return verdict;
}

Verdict run_job(
    Context& context,
    const Program& program,
    const fs::path& executable,
    const LaunchOptions& options,
    const std::string& after
) {
    const int ranks = ranks_of(program, options);
    if (const std::string reason = missing_room(ranks, run_folders(context)); !reason.empty()) {
        return cannot_start(ranks, reason);
    }
    const RunFolder folder(context, options.keep);
    const BoardFile board(folder.path());
    const harness::Secret secret = draw_secret(options);
    write_secret(folder.path(), secret);
    Start start = start_of(
        context, program, executable, options, folder, *board, answer_environment(options, after)
    );
    RestOver rest_over(*board, options.rest_limit_s, !after.empty());
    start.options.over = [&rest_over, stuck = start.options.over] {
        return rest_over() || stuck();
    };
    const Ended ended = run(context, start.command, start.options);
    Verdict verdict = judge_job(
        context, program, options, after, folder.path(), *board, secret, ended, rest_over.is_over()
    );
    spend(context, ended.seconds, verdict);
    return verdict;
}

}  // namespace dist::cli
