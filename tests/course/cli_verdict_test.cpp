#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/judge/deaths.hpp"
#include "course/judge/records.hpp"
#include "course/judge/verdict.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::cli;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// A run folder made by hand, as if processes had left it.
class HandMade {
  public:
    explicit HandMade(int ranks) : ranks_(ranks) {
        static int number = 0;
        folder_ = fs::temp_directory_path() /
                  ("cli_test_" + std::to_string(getpid()) + "_" + std::to_string(++number));
        fs::create_directories(folder_);
        board_ = std::make_unique<BoardFile>(folder_);
        for (int r = 0; r < ranks; ++r) {
            seals_.emplace_back(harness::SealKey{}, r);
        }
    }
    ~HandMade() { fs::remove_all(folder_); }
    HandMade(const HandMade&) = delete;
    HandMade& operator=(const HandMade&) = delete;

    void write(int rank, const std::string& line, const char* end = "\n") {
        std::ofstream(folder_ / ("rank-" + std::to_string(rank) + ".jsonl"), std::ios::app)
            << seals_[static_cast<std::size_t>(rank)].sealed(line) << end;
    }
    void plan(const std::vector<std::string>& tests) {
        for (int r = 0; r < ranks_; ++r) {
            write(r, json{{"plan", tests}}.dump());
        }
    }
    void record(
        int rank,
        const std::string& test,
        const std::string& state,
        const json& more = json::object()
    ) {
        json line = {
            {"test", test},
            {"state", state},
            {"ranks", ranks_},
            {"message", ""},
            {"duration_s", 0.1}};
        line.update(more);
        write(rank, line.dump());
    }
    void pass_everywhere(const std::string& test) {
        for (int r = 0; r < ranks_; ++r) {
            record(r, test, "pass");
        }
    }
    void finish() {
        for (int r = 0; r < ranks_; ++r) {
            write(r, "{\"finished\": true}");
        }
    }
    // what the harness writes: the launcher only reads it
    harness::Board& board() { return const_cast<harness::Board&>(**board_); }

    Job job() const {
        Job job;
        job.folder = folder_;
        job.board = &**board_;
        for (int r = 0; r < ranks_; ++r) {
            job.logs.push_back(read_rank_log(folder_, r, {{}, r}));
        }
        return job;
    }

  private:
    int ranks_;
    std::vector<harness::Seal> seals_;
    fs::path folder_;
    std::unique_ptr<BoardFile> board_;
};

}  // namespace

TEST_CASE("who ends without a word is told which records are missing, and what mpirun said") {
    HandMade run(2);
    run.plan({"a", "b"});
    run.pass_everywhere("a");
    run.record(0, "b", "pass");
    Job job = run.job();
    job.status = 3;
    job.output = "no reason";
    const Verdict verdict = judge(job);
    CHECK(overall(verdict.tests) == State::harness_error);
    CHECK(
        verdict.tests.back().message ==
        "the processes ended without saying why. They have written, rank 0: 2 of 2 records; rank "
        "1: 1 of 2 "
        "records. mpirun ended with status 3 and said no reason"
    );
}

TEST_CASE("a pass is a complete record from every rank") {
    HandMade run(2);
    run.plan({"a", "b"});
    run.pass_everywhere("a");
    run.pass_everywhere("b");
    run.finish();
    const Verdict verdict = judge(run.job());
    REQUIRE(verdict.tests.size() == 2);
    CHECK(overall(verdict.tests) == State::pass);
    CHECK(verdict.rest_after.empty());
}

TEST_CASE("without the last line of every rank it is no pass") {
    HandMade run(2);
    run.plan({"a"});
    run.pass_everywhere("a");
    run.write(0, "{\"finished\": true}");
    run.board().slot[1].end = harness::End::exited;
    run.board().slot[1].end_code = 0;
    const Verdict verdict = judge(run.job());
    CHECK(overall(verdict.tests) == State::early_exit);
}

TEST_CASE("a line that was cut short counts as not written") {
    HandMade run(1);
    run.plan({"a"});
    run.write(0, R"({"test": "a", "state": "pass"})", "");
    run.board().slot[0].end = harness::End::signalled;
    run.board().slot[0].end_code = 9;
    CHECK(overall(judge(run.job()).tests) == State::crash);
}

TEST_CASE("a failing rank decides, and ranks that were stopped do not") {
    HandMade run(3);
    run.plan({"a"});
    run.record(
        0, "a", "stopped",
        {{"wait", {{"phase", "waiting"}, {"call", "MPI_Recv(from rank 1)"}, {"peer", 1}}}}
    );
    run.record(
        1, "a", "fail",
        {{"message", "std::runtime_error was thrown: no"}, {"wait", {{"phase", "threw"}}}}
    );
    run.record(2, "a", "pass");
    run.finish();
    const Verdict verdict = judge(run.job());
    CHECK(verdict.tests.front().status == State::fail);
    CHECK(verdict.tests.front().message == "rank 1: std::runtime_error was thrown: no");
    CHECK(verdict.tests.front().per_rank[0].state == RankState::blocked);
}

TEST_CASE("the world of a test is the one that failed, not the largest that it ran on") {
    HandMade run(5);
    run.plan({"a"});
    for (int r = 0; r < 5; ++r) {
        const std::string state = r == 1 ? "fail" : "pass";
        run.record(r, "a", state, {{"ranks", r < 3 ? 3 : 5}});
    }
    run.finish();
    const TestResult test = judge(run.job()).tests.front();
    CHECK(test.ranks == 3);
    CHECK(test.per_rank.size() == 3);
}

TEST_CASE("a word that is not in the protocol is a fault of the harness") {
    HandMade run(1);
    run.plan({"a"});
    run.record(0, "a", "splendid");
    run.finish();
    CHECK(judge(run.job()).tests.front().status == State::harness_error);
}

TEST_CASE("a hang is explained from where the ranks stood") {
    HandMade run(2);
    run.plan({"a"});
    for (int r = 0; r < 2; ++r) {
        const std::string call = "MPI_Send(to rank " + std::to_string(1 - r) + ", tag 0, 4 bytes)";
        run.record(
            r, "a", "hang",
            {{"wait",
              {{"phase", "waiting"},
               {"call", call},
               {"kind", "message"},
               {"direction", "send"},
               {"peer", 1 - r},
               {"tag", 0}}}}
        );
    }
    run.finish();
    const TestResult test = judge(run.job()).tests.front();
    CHECK(test.status == State::hang);
    CHECK(has(test.message, "0 waits for 1, 1 waits for 0: every rank sends first"));
}

TEST_CASE("one crash costs one test: those before are kept, those after are run again") {
    HandMade run(2);
    run.plan({"a", "b", "c"});
    run.pass_everywhere("a");
    run.record(0, "b", "stopped");
    run.board().died = 2;
    run.board().slot[0].end = harness::End::left;
    run.board().slot[1].end = harness::End::signalled;
    run.board().slot[1].end_code = 11;
    run.board().slot[1].ranks = 2;
    const Verdict verdict = judge(run.job());
    REQUIRE(verdict.tests.size() == 2);
    CHECK(verdict.tests[0].status == State::pass);
    CHECK(verdict.tests[1].status == State::crash);
    CHECK(has(verdict.tests[1].message, "rank 1 died of SIGSEGV"));
    CHECK(verdict.rest_after == "b");
}

TEST_CASE("tests that were left out after a failure are named, not judged") {
    HandMade run(2);
    run.plan({"first", "second", "third"});
    run.pass_everywhere("first");
    run.record(0, "second", "fail");
    run.record(1, "second", "pass");
    run.finish();
    const Verdict verdict = judge(run.job());
    CHECK(verdict.tests.size() == 2);
    CHECK(verdict.rest_after == "second");
    CHECK(overall(verdict.tests) == State::fail);
}

TEST_CASE("every way to end is a state of its own") {
    using harness::End;
    const std::vector<std::pair<End, State>> ends = {
        {End::exited, State::early_exit},
        {End::aborted, State::abort},
        {End::time_limit, State::time_limit},
        {End::asleep, State::time_limit},
        {End::memory_limit, State::memory_limit},
        {End::output_limit, State::output_limit},
        {End::signalled, State::crash}};
    for (const auto& [end, state] : ends) {
        HandMade run(1);
        run.plan({"a"});
        run.board().slot[0].end = end;
        run.board().slot[0].end_code = end == End::signalled ? 11 : 0;
        const Verdict verdict = judge(run.job());
        CHECK(verdict.tests.front().status == state);
        CHECK(has(verdict.tests.front().message, "rank 0"));
    }
}

TEST_CASE("a rank that was stopped where no exception passes is a hang, not a crash") {
    HandMade run(2);
    run.plan({"a"});
    run.board().stop = harness::Stop::deadlock;
    for (int r = 0; r < 2; ++r) {
        run.board().slot[r].end = harness::End::unwound;
        run.board().slot[r].ranks = 2;
    }
    CHECK(judge(run.job()).tests.front().status == State::hang);
}

TEST_CASE(
    "no plan at all is an early exit when mpirun saw success, and our fault when it did not start"
) {
    HandMade run(2);
    Job job = run.job();
    CHECK_FALSE(judge(job).planned);
    CHECK(explain_no_plan(job).status == State::early_exit);
    job.status = 1;
    job.output = "There are not enough slots available";
    CHECK(explain_no_plan(job).status == State::harness_error);
    CHECK(has(explain_no_plan(job).message, "not enough slots"));
    job.output = "[n:1] x\nshardlings: a rank cannot read /proc\n-----\nnon-zero status\n";
    CHECK(explain_no_plan(job).status == State::harness_error);
    CHECK(explain_no_plan(job).message == "shardlings: a rank cannot read /proc");
    job.status = 127;
    job.output =
        "a_test: error while loading shared libraries: libx.so.1: cannot open it\nnon-zero";
    CHECK(explain_no_plan(job).status == State::harness_error);
    CHECK(has(explain_no_plan(job).message, "the program cannot be loaded: libx.so.1: cannot open")
    );
}

TEST_CASE("a run's document is JSON, whatever a program printed") {
    Result result;
    result.exercise = "send_recv";
    TestResult test;
    test.name = "a";
    test.status = State::skipped;
    RankResult rank;
    rank.output = "\xff\xfe not text";
    test.per_rank = {rank};
    result.tests = {test};
    const json document = json::parse(to_json(result));
    for (const char* field :
         {"format", "runner", "exercise", "mode", "status", "seed", "started_at", "duration_s",
          "tests"}) {
        CHECK(document.contains(field));
    }
    CHECK(document["tests"][0]["skip_reason"] == "not said");
}

TEST_CASE("a rank whose watching process was killed is named; the others were asked to end") {
    HandMade run(3);
    run.plan({"a", "b"});
    run.pass_everywhere("a");
    run.record(2, "b", "pass");
    for (int r = 0; r < 3; ++r) {
        run.board().slot[r].watcher = 100 + r;
        run.board().slot[r].end = r == 1 ? harness::End::none : harness::End::left;
    }
    const Verdict verdict = judge(run.job());
    REQUIRE(verdict.tests.size() == 2);
    CHECK(verdict.tests[1].status == State::crash);
    CHECK(has(verdict.tests[1].message, "rank 1 ended the process that watches over it"));

    run.board().slot[0].end = harness::End::none;  // it had no time to say so
    Job job = run.job();
    CHECK(has(judge(job).tests[1].message, "ranks 0 and 1 ended"));
    job.output =
        "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).";
    CHECK(has(judge(job).tests[1].message, "rank 1 ended the process"));
    CHECK_FALSE(has(judge(job).tests[1].message, "ranks 0"));
}

TEST_CASE("an mpirun that was killed is named, whatever its ranks did then") {
    HandMade run(2);
    run.plan({"a"});
    run.board().slot[0].end = harness::End::exited;
    Job job = run.job();
    job.killed = true;
    CHECK(judge(job).tests.front().status == State::crash);
    CHECK(has(judge(job).tests.front().message, "mpirun, which started the ranks, was killed"));
}

TEST_CASE("a rank that ended inside MPI_Init is MPI's failure, and one that found no room a disk's"
) {
    HandMade run(2);
    run.board().slot[1].end = harness::End::exited;
    run.board().slot[1].starting = 1;
    Job job = run.job();
    job.status = 1;
    job.output = "PMIX ERROR: OUT-OF-RESOURCE\nexited with non-zero status";
    const TestResult test = explain_no_plan(job);
    CHECK(test.status == State::harness_error);
    CHECK(has(test.message, "MPI did not start, as if no space were left in /tmp (or TMPDIR)"));

    run.plan({"a"});
    run.board().died = 2;
    run.board().slot[1].end = harness::End::no_room;
    std::strcpy(run.board().slot[1].end_message, "rank 1: no space left in /dev/shm");
    const Verdict verdict = judge(run.job());
    CHECK(overall(verdict.tests) == State::harness_error);
    CHECK(has(verdict.tests.front().message, "no space left in /dev/shm"));
}
