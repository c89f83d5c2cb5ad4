#include "course/cli/judge/verdict.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tuple>

#include "course/cli/judge/ended.hpp"
#include "course/cli/judge/explain.hpp"

namespace dist::cli {
namespace {

/// States of a rank's record, the worse first; `stopped` is another rank's fault.
constexpr std::array<std::string_view, 6> kWorstFirst = {
    "forbidden", "not_started", "hang", "fail", "skipped", "stopped",
};

std::string rank_state(const Record& record) {
    if (record.state == "pass" || record.state == "skipped") {
        return "ok";
    }
    if (record.state == "not_started") {
        return "not_started";
    }
    if (record.wait.phase == "waiting") {
        return "blocked";
    }
    if (record.wait.phase == "computing") {
        return "computing";
    }
    return record.state == "stopped" || record.state == "hang" ? "ok" : "mismatch";
}

RankResult rank_of(int rank, const Record& record) {
    RankResult result;
    result.rank = rank;
    result.state = rank_state(record);
    result.call = record.wait.call;
    result.peer = record.wait.peer;
    result.tag = record.wait.tag;
    result.blocked_s = record.wait.since_s;
    result.phase = record.wait.phase;
    result.frames = record.wait.frames;
    result.message = record.message;
    result.failures = record.failures;
    result.output = record.output;
    result.counters = record.traffic;
    return result;
}

/// The message, after the ranks that it is about: "rank 0: std::runtime_error was thrown: ...".
std::string with_ranks(const TestResult& test) {
    std::vector<int> ranks;
    for (const RankResult& rank : test.per_rank) {
        if (rank.message == test.message) {
            ranks.push_back(rank.rank);
        }
    }
    // what is forbidden stops every rank, whoever did it
    if (test.message.empty() || ranks.empty() || test.message.starts_with("rank ") ||
        test.status == State::forbidden) {
        return test.message;
    }
    const bool all = ranks.size() == test.per_rank.size() && ranks.size() > 1;
    return fmt::format("{}: {}", all ? "every rank" : ranks_text(ranks), test.message);
}

/// The records of one test from all ranks, as one.
TestResult merge(const std::string& name, const std::vector<const Record*>& records) {
    TestResult test;
    test.name = name;
    test.status = State::pass;
    std::size_t worst = kWorstFirst.size();
    for (std::size_t r = 0; r < records.size(); ++r) {
        const Record& record = *records[r];
        test.duration_s = std::max(test.duration_s, record.duration_s);
        test.ranks = std::max(test.ranks, record.ranks);
        const auto* const place = std::find(kWorstFirst.begin(), kWorstFirst.end(), record.state);
        const auto rank = static_cast<std::size_t>(place - kWorstFirst.begin());
        if (rank < worst) {
            worst = rank;
            test.message = record.message;
        }
        if (place == kWorstFirst.end() && record.state != "pass") {
            worst = 0;
            test.status = State::harness_error;
            test.message = fmt::format("rank {} left a record with state '{}'", r, record.state);
        }
        // idle ranks of a smaller world have nothing to tell
        if (record.ranks > static_cast<int>(r)) {
            test.per_rank.push_back(rank_of(static_cast<int>(r), record));
        }
    }
    if (worst < kWorstFirst.size() && test.status == State::pass) {
        test.status = state_of(kWorstFirst.at(worst)).value_or(State::harness_error);
    }
    if (test.status == State::hang) {
        for (RankResult& rank : test.per_rank) {
            rank.phase =
                rank.phase.empty() ? "returned" : rank.phase;  // failed a check after it had
        }
        const std::string sentence = explain_hang(test);
        test.message = sentence.empty() ? test.message : sentence;
    } else if (test.status == State::fail || test.status == State::forbidden) {
        test.message = with_ranks(test);
    }
    return test;
}

/// A test in which a rank died: what it left on the board, and the records of those that live.
TestResult merge_death(
    const std::string& name, const std::vector<const Record*>& records, const Job& job
) {
    TestResult test;
    test.name = name;
    const int blamed = job.board->died - 1;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const int r = static_cast<int>(i);
        const harness::Slot& slot = job.board->slot[r];
        test.ranks =
            std::max(test.ranks, records[i] != nullptr ? records[i]->ranks : slot.ranks.load());
        test.per_rank.push_back(
            records[i] != nullptr ? rank_of(r, *records[i]) : rank_from_board(r, job)
        );
        if (records[i] != nullptr) {
            continue;
        }
        const auto [state, message] = explain_end(r, slot, test.per_rank.back().output);
        if (state != State::not_run && (test.status == State::not_run || r == blamed)) {
            test.status = state;
            test.message = message;
        }
    }
    if (test.status == State::not_run || job.timed_out) {
        std::tie(test.status, test.message) = explain_stop(job);
    }
    if (test.status == State::hang) {
        const std::string sentence = explain_hang(test);
        test.message = sentence.empty() ? test.message : sentence;
    }
    std::erase_if(test.per_rank, [&](const RankResult& rank) { return rank.rank >= test.ranks; });
    return test;
}

}  // namespace

Verdict judge(const Job& job) {
    Verdict verdict;
    std::vector<std::string> plan;
    for (const RankLog& log : job.logs) {
        if (log.planned) {
            verdict.planned = true;
            plan = log.plan.size() > plan.size() ? log.plan : plan;
        }
    }
    const auto finished = [](const RankLog& log) { return log.finished; };
    const bool all_finished = std::all_of(job.logs.begin(), job.logs.end(), finished);
    for (std::size_t t = 0; t < plan.size(); ++t) {
        std::vector<const Record*> records;
        for (const RankLog& log : job.logs) {
            // a rank writes its records in the order of the plan
            const bool written = t < log.records.size() && log.records[t].test == plan[t];
            records.push_back(written ? &log.records[t] : nullptr);
        }
        if (std::find(records.begin(), records.end(), nullptr) == records.end()) {
            verdict.tests.push_back(merge(plan[t], records));
            continue;
        }
        if (all_finished && t > 0) {  // they were told to, at the first test that failed
            verdict.rest_after = plan[t - 1];
            return verdict;
        }
        verdict.tests.push_back(merge_death(plan[t], records, job));
        verdict.rest_after = t + 1 < plan.size() ? plan[t] : "";
        return verdict;
    }
    if (verdict.planned && !all_finished) {
        const std::vector<const Record*> none(job.logs.size(), nullptr);
        verdict.tests.push_back(merge_death("the program ends when all tests have ended", none, job)
        );
        verdict.tests.back().planned = false;
    }
    return verdict;
}

State overall(const std::vector<TestResult>& tests) {
    const auto has = [&](State state) {
        return std::any_of(tests.begin(), tests.end(), [&](const auto& t) {
            return t.status == state;
        });
    };
    for (const TestResult& test : tests) {
        if (test.status != State::pass && test.status != State::skipped &&
            test.status != State::not_started) {
            return test.status;
        }
    }
    return has(State::not_started) ? State::not_started
           : has(State::skipped)   ? State::skipped
           : tests.empty()         ? State::not_run
                                   : State::pass;
}

}  // namespace dist::cli
