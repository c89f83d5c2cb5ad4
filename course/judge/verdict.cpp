#include "course/judge/verdict.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <tuple>
#include <utility>

#include "course/judge/deaths.hpp"
#include "course/judge/explain.hpp"

namespace dist::cli {
namespace {

using harness::Outcome;
using harness::Phase;

/// A test that ended like that on its worst rank; `stopped` alone accuses nobody, so that nothing is
/// known.
State as_state(Outcome outcome) {
    switch (outcome) {
        case Outcome::pass:
            return State::pass;
        case Outcome::skipped:
            return State::skipped;
        case Outcome::fail:
            return State::fail;
        case Outcome::hang:
            return State::hang;
        case Outcome::not_started:
            return State::not_started;
        case Outcome::forbidden:
            return State::forbidden;
        case Outcome::stopped:
            break;
    }
    return State::harness_error;
}

/// A rank that was stopped is worse off than one that passed, and less so than one that skipped.
bool worse(Outcome a, Outcome b) {
    const auto order = [](Outcome outcome) {
        return outcome == Outcome::stopped   ? 1
               : outcome == Outcome::skipped ? 2
                                             : 2 * static_cast<int>(outcome);
    };
    return order(a) > order(b);
}

RankState rank_state(const Record& record) {
    if (!record.died.empty()) {
        return record.died.starts_with("killed by ") ? RankState::signal : RankState::exit;
    }
    const Outcome outcome = record.state.value_or(Outcome::fail);
    if (outcome == Outcome::pass || outcome == Outcome::skipped) {
        return RankState::ok;
    }
    if (outcome == Outcome::not_started) {
        return RankState::not_started;
    }
    if (record.wait.phase == Phase::waiting) {
        return RankState::blocked;
    }
    if (record.wait.phase == Phase::computing) {
        return RankState::computing;
    }
    return outcome == Outcome::stopped || outcome == Outcome::hang ? RankState::ok
                                                                   : RankState::mismatch;
}

RankResult rank_of(int rank, const Record& record) {
    RankResult result;
    result.rank = rank;
    result.state = rank_state(record);
    result.call = record.wait.call;
    result.peer = record.wait.peer;
    result.rank_in_comm = record.wait.rank_in_comm;
    result.peer_in_comm = record.wait.peer_in_comm;
    result.tag = record.wait.tag;
    result.blocked_s = record.wait.since_s;
    result.phase = record.wait.phase;
    result.kind = record.wait.kind;
    result.direction = record.wait.direction;
    result.collectives = record.wait.collectives;
    result.frames = record.wait.frames;
    result.info = record.wait.info;
    result.died = record.died;
    result.message = record.message;
    result.failures = record.failures;
    result.output = record.output;
    result.counters = record.traffic;
    result.checks = record.checks;
    result.log = record.log;
    return result;
}

/// The ranks of a test, where they were plain processes; none: they were not. What the job's own ranks said of the test stands
/// with the first.
std::vector<Record> processes_of(const std::vector<const Record*>& records) {
    std::vector<Record> processes = records.front()->processes;
    if (processes.empty()) {
        return processes;
    }
    Record& first = processes.front();
    Outcome worst = Outcome::pass;
    for (const Record& process : processes) {
        const Outcome state = process.state.value_or(Outcome::fail);
        worst = worse(state, worst) ? state : worst;
    }
    for (const Record* own : records) {
        const Outcome state = own->state.value_or(Outcome::fail);
        if (worse(state, worst) || !own->failures.empty()) {
            first.state = own->state;
            first.message = worse(state, worst) ? own->message : first.message;
        }
        first.failures.insert(first.failures.end(), own->failures.begin(), own->failures.end());
        first.checks += own->checks;
        first.duration_s = std::max(first.duration_s, own->duration_s);
        first.output += own->output;
    }
    for (Record& process : processes) {
        process.ranks = static_cast<int>(processes.size());
    }
    return processes;
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

/// Why nothing moves, if the test was stopped for that.
void explain_if_hang(TestResult& test) {
    if (test.status != State::hang) {
        return;
    }
    for (RankResult& rank : test.per_rank) {
        if (rank.phase == Phase::absent) {
            rank.phase = Phase::returned;  // failed a check after it had
        }
    }
    if (const std::string sentence = explain_hang(test); !sentence.empty()) {
        test.message = sentence;
    } else if (test.message.empty()) {
        test.message = explain_waiting(test);
    }
}

/// The records of one test from all ranks, as one. The worst rank's tells the state, and the world.
TestResult merge(const std::string& name, const std::vector<const Record*>& records) {
    TestResult test;
    test.name = name;
    test.ranks = 0;
    Outcome worst = Outcome::pass;
    for (std::size_t r = 0; r < records.size(); ++r) {
        const Record& record = *records[r];
        test.duration_s = std::max(test.duration_s, record.duration_s);
        if (!record.state) {
            test.status = State::harness_error;
            test.message = fmt::format("rank {} left a record with a state that is none", r);
            return test;
        }
        if (worse(*record.state, worst)) {
            worst = *record.state;
            test.message = record.message;
            test.ranks = record.ranks;
        } else if (worst == Outcome::pass || *record.state == worst) {
            test.ranks = std::max(test.ranks, record.ranks);
        }
    }
    test.status = as_state(worst);
    for (std::size_t r = 0; r < records.size(); ++r) {
        // idle ranks of a smaller world have nothing to tell
        if (static_cast<int>(r) < test.ranks) {
            test.per_rank.push_back(rank_of(static_cast<int>(r), *records[r]));
        }
    }
    explain_if_hang(test);
    if (test.status == State::fail || test.status == State::forbidden) {
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
        const bool written = records[i] != nullptr;
        test.ranks = std::max(test.ranks, written ? records[i]->ranks : slot.ranks.load());
        test.per_rank.push_back(written ? rank_of(r, *records[i]) : rank_from_board(r, job));
        if (written) {
            continue;
        }
        const auto [state, message] = explain_end(r, slot, test.per_rank.back().output);
        if (state != State::not_run && (test.status == State::not_run || r == blamed)) {
            test.status = state;
            test.message = message;
        }
    }
    if (test.status == State::not_run || job.timed_out || job.killed) {
        std::tie(test.status, test.message) = explain_stop(job);
    }
    if (blamed >= 0 && job.board->slot[blamed].ranks > 0) {
        test.ranks = job.board->slot[blamed].ranks;  // the world it died in, not one before
    }
    explain_if_hang(test);
    std::erase_if(test.per_rank, [&](const RankResult& rank) { return rank.rank >= test.ranks; });
    return test;
}

/// Who was stopped for a call that is forbidden, and hides it, has called it all the same.
void blame_if_forbidden(TestResult& test, const harness::Board& board) {
    if (test.status == State::harness_error && board.stop == harness::Stop::forbidden) {
        test.status = State::forbidden;
        test.message = board.stop_message;
    }
}

/// What the program did to the tests themselves.
Verdict meddled(const Job& job, const std::string& name, const std::string& message) {
    TestResult test;
    test.name = name;
    test.planned = false;
    test.ranks = static_cast<int>(job.logs.size());
    test.status = State::forbidden;
    test.message = message;
    Verdict verdict;
    verdict.planned = true;
    verdict.tests = {test};
    return verdict;
}

/// The verdict on a program that writes the records of its tests itself, or changes which tests are run.
std::optional<Verdict> meddling(const Job& job) {
    for (std::size_t r = 0; r < job.logs.size(); ++r) {
        const RankLog& log = job.logs[r];
        if (log.forged || log.records.size() > log.plan.size()) {
            return meddled(
                job, "what is written down of the tests is their own",
                fmt::format(
                    "rank {} has written into the records of the tests, as if they had said it", r
                )
            );
        }
        if (log.planned && job.plan && log.plan != *job.plan) {
            return meddled(
                job, "the tests are those that were asked for",
                "it changes which tests are run, or what is written down of them"
            );
        }
    }
    return std::nullopt;
}

/// Tests that a student need not wait for.
void add_not_run(Verdict& verdict, const std::vector<std::string>& names, const Job& job) {
    for (const std::string& name : names) {
        TestResult& test = verdict.tests.emplace_back();
        test.name = name;
        test.ranks = static_cast<int>(job.logs.size());
        test.status = State::not_run;
        test.message = "not run: a test before it has failed, and this one takes long";
    }
}

}  // namespace

Verdict judge(const Job& job) {
    if (std::optional<Verdict> forged = meddling(job)) {
        return *std::move(forged);
    }
    Verdict verdict;
    std::vector<std::string> plan;
    for (const RankLog& log : job.logs) {
        if (log.planned) {
            verdict.planned = true;
            verdict.many = std::max(verdict.many, log.many);
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
            const std::vector<Record> processes = processes_of(records);
            if (!processes.empty()) {
                records.clear();
                for (const Record& process : processes) {
                    records.push_back(&process);
                }
            }
            verdict.tests.push_back(merge(plan[t], records));
            blame_if_forbidden(verdict.tests.back(), *job.board);
            continue;
        }
        if (all_finished && t > 0) {  // they were told to, at the first test that failed
            verdict.rest_after = plan[t - 1];
            return verdict;
        }
        if (job.rest_over) {
            add_not_run(verdict, {plan.begin() + static_cast<std::ptrdiff_t>(t), plan.end()}, job);
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
