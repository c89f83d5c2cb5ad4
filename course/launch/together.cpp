#include "course/launch/together.hpp"

#include <algorithm>
#include <fstream>
#include <memory>

#include "course/build/setup.hpp"
#include "course/launch/job.hpp"
#include "course/launch/start.hpp"
#include "course/process/room.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMoreS = 60;  // of the clock, for each answer: a busy machine takes its time

/// The folders of the answers in that of the job, each with its board; and the list of the answers.
std::vector<std::unique_ptr<BoardFile>> lay_out(
    const fs::path& folder, const std::vector<Together>& answers
) {
    std::vector<std::unique_ptr<BoardFile>> boards;
    std::ofstream list(folder / "answers");
    for (const Together& answer : answers) {
        const fs::path own = folder / std::to_string(boards.size());
        fs::create_directories(own / "work");
        boards.push_back(std::make_unique<BoardFile>(own));
        list << answer.library.string() << '\t' << answer.options.test << '\n';
    }
    return boards;
}

}  // namespace

std::string host_of(const Context& context, const Program& program) {
    const bool can = cached_value(context, "SHARDLINGS_TOGETHER") == "ON";
    return program.kind().shares_jobs && can ? "host_" + program.needs : "";
}

std::vector<std::optional<Result>> launch_together(
    Context& context, const Program& program, const std::vector<Together>& answers
) {
    std::vector<std::optional<Result>> results(answers.size());
    LaunchOptions options = answers.front().options;
    options.test.clear();
    const int ranks = ranks_of(program, options);
    const RunFolder folder(context, options.keep);
    if (!missing_room(ranks, run_folders(context)).empty() || folder.shared().empty()) {
        return results;
    }
    const BoardFile board(folder.path());
    const auto boards = lay_out(folder.path(), answers);
    const harness::Secret secret = draw_secret(options);
    write_secret(folder.path(), secret);
    const fs::path host = context.build_folder() / "tests" / host_of(context, program);
    Start start = start_of(context, program, host, options, folder, *board, "");
    start.options.environment.emplace_back(
        harness::kEnvAnswers, (folder.path() / "answers").string()
    );
    start.options.time_limit_s += kMoreS * static_cast<double>(answers.size());
    const Ended ended = run(context, start.command, start.options);
    double tests_s = 0;
    for (std::size_t a = 0; a < answers.size(); ++a) {
        const Together& answer = answers[a];
        Verdict verdict = judge_job(
            context, program, answer.options, "", folder.path() / std::to_string(a), **boards[a],
            secret, ended
        );
        Result result = result_of(program, answer.options, answer.as);
        for (TestResult& test : verdict.tests) {
            result.duration_s += test.duration_s;
            result.tests.push_back(std::move(test));
        }
        tests_s += result.duration_s;
        complete(context, answer.library, answer.as, answer.options, result);
        if (verdict.planned && answer.options.enough(result)) {
            results[a] = std::move(result);
        }
    }
    context.spend("start", std::max(0.0, ended.seconds - tests_s));
    context.spend("tests", tests_s);
    return results;
}

}  // namespace dist::cli
