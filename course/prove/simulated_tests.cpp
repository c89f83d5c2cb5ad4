#include "course/prove/simulated_tests.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <set>

#include "course/judge/addresses.hpp"
#include "course/judge/verdict.hpp"
#include "course/launch/run_folder.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/secret.hpp"
#include "course/simulate/cluster.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

template <class Line>
std::vector<Line> lines_of_file(const fs::path& file) {
    std::vector<Line> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const auto object = nlohmann::json::parse(line, nullptr, false);
        if (object.is_object()) {
            all.push_back(object.get<Line>());
        }
    }
    return all;
}

/// Whether the rank waited in a call when the simulation ended.
bool stands_still(const harness::Slot& slot) {
    return slot.end == harness::End::unwound;
}

/// What a rank wrote, with one record for each test: a rank writes several in the course of a test, and the last counts.
RankLog log_of(const fs::path& folder, int rank, const harness::Slot& slot) {
    RankLog log = read_rank_log(folder, rank, {harness::Secret{}.records, rank});
    std::vector<Record> last;
    for (Record& record : log.records) {
        if (!last.empty() && last.back().test == record.test) {
            last.pop_back();
        }
        last.push_back(std::move(record));
    }
    if (stands_still(slot) && !last.empty() && last.back().test == slot.test) {
        last.pop_back();  // of a trial before
    }
    log.records = std::move(last);
    return log;
}

/// Removes the tests after the one in which a rank stands still: they never began.
void cut_plans(std::vector<RankLog>& logs, const harness::Board& board) {
    for (std::size_t r = 0; r < logs.size(); ++r) {
        if (stands_still(board.slot[r])) {
            const std::size_t known = logs[r].records.size() + 1;
            for (RankLog& log : logs) {
                log.plan.resize(std::min(log.plan.size(), known));
                log.records.resize(std::min(log.records.size(), known));
            }
        }
    }
}

/// Ranks that wait for one that has left are not to blame.
void blame_who_left(TestResult& test) {
    const auto threw = [](const RankResult& rank) { return rank.phase == harness::Phase::threw; };
    const auto failed = [](const RankResult& rank) { return !rank.failures.empty(); };
    if (test.status == State::hang && std::ranges::any_of(test.per_rank, failed)) {
        test.message.clear();
        test.status = State::fail;
    } else if (test.status == State::hang && std::ranges::any_of(test.per_rank, threw)) {
        test.status = State::fail;
    }
}

/// The test that was begun last, as far as a rank says.
std::string test_in_progress(const harness::Board& board, int ranks) {
    const auto* const found = std::find_if(board.slot, board.slot + ranks, [](const auto& slot) {
        return slot.test[0] != '\0';
    });
    return found == board.slot + ranks ? "" : fmt::format(", in \"{}\"", found->test);
}

/// Errors  CommandError if a rank has said that it cannot be simulated, or SimGrid that a call is missing
void expect_simulated(const std::string& output) {
    std::string why = rest_of_line(simulation::kCannotRunMark, output);
    const std::string call = rest_of_line("Not yet implemented: P", output);  // PMPI_Imrecv
    if (why.empty() && !call.empty()) {
        why = "SimGrid's MPI has no " + call.substr(0, call.find('.'));
    }
    if (!why.empty()) {
        throw CommandError(
            exit_status::kFailed, "this cannot run on simulated ranks, so there is no proof: " + why
        );
    }
}

[[noreturn]] void refuse(const Ended& ended, const harness::Board& board, int ranks) {
    const EarlyEnd end = early_end(ended);
    throw CommandError(
        end.exit_status,
        fmt::format(
            "the test on {} simulated ranks {}{}; ./shardlings run says more about it", ranks,
            end.words, test_in_progress(board, ranks)
        )
    );
}

}  // namespace

fs::path write_order(const simulation::TestOrder& order, const fs::path& folder) {
    fs::path file = folder / "order.json";
    std::ofstream(file) << nlohmann::json(order).dump();
    return file;
}

SimulatedRun run_simulated_tests(Context& context, const SimulatedTests& wanted) {
    const RunFolder folder(context, false);
    const BoardFile board(folder.path());
    simulation::TestOrder order = wanted.order;
    order.folder = folder.path().string();
    std::vector<std::string> settings;
    if (!wanted.replay.empty()) {
        settings = {"model-check/replay:" + wanted.replay, kNoBuffers};  // in this order
    }
    RunOptions options;
    options.environment = {{"LC_ALL", "C"}};
    options.folder = folder.path();
    options.time_limit_s = wanted.time_limit_s;
    std::vector<std::string> line = on_cluster({}, wanted.ranks, folder.path(), settings);
    line.insert(line.end(), {wanted.module.string(), write_order(order, folder.path()).string()});
    const Ended ended = run(context, line, options);
    expect_simulated(ended.output);

    Job job;
    job.folder = folder.path();
    job.board = &*board;
    job.status = ended.status;
    job.output = ended.output;
    SimulatedRun result;
    bool planned = true;
    for (int r = 0; r < wanted.ranks; ++r) {
        job.logs.push_back(log_of(job.folder, r, board->slot[r]));
        planned = planned && job.logs.back().planned;
        result.last_trial = std::max(result.last_trial, board->slot[r].run_started.load());
    }
    const auto still = [&](const harness::Slot& slot) { return stands_still(slot); };
    const bool hangs = std::any_of(board->slot, board->slot + wanted.ranks, still);
    const auto finished = [](const RankLog& log) { return log.finished; };
    // SimGrid 3 ends with status 0 after a deadlock, SimGrid 4 by SIGABRT
    const bool deadlock = ended.output.find("eadlock") != std::string::npos ||
                          ended.output.find("DEADLOCK") != std::string::npos;
    const bool ended_early = !hangs || (!deadlock && wanted.replay.empty());
    if (!planned || ended.timed_out || (ended.status > 128 && !deadlock) ||
        (ended_early && !std::ranges::all_of(job.logs, finished))) {
        refuse(ended, *board, wanted.ranks);
    }
    cut_plans(job.logs, *board);
    result.tests = judge(job).tests;
    std::ranges::for_each(result.tests, blame_who_left);
    locate(context, wanted.module, wanted.source, result.tests);
    result.trials = lines_of_file<simulation::Trial>(job.folder / simulation::kTrialsFile);
    result.messages = lines_of_file<simulation::Message>(job.folder / simulation::kMessagesFile);
    return result;
}

}  // namespace dist::cli
