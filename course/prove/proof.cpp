#include "course/prove/proof.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

#include "course/judge/verdict.hpp"
#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/prove/explore.hpp"
#include "course/report/failure_text.hpp"
#include "course/runtime/clock.hpp"

namespace dist::cli {
namespace {

using simulation::Trial;

/// An input with a part for every rank, and one that is too short for that.
const std::vector<std::size_t> kLengths = {7, 1};

SimulatedTests tests_of(const Claim& claim) {
    SimulatedTests tests;
    tests.module = claim.module;
    tests.source = claim.source;
    tests.ranks = claim.ranks;
    tests.order.test = claim.test;
    tests.order.lengths = kLengths;
    tests.time_limit_s = claim.time_limit_s;
    return tests;
}

/// A trial, by all of its ranks.
struct Candidate {
    std::string test;
    long calls = 0;
    std::map<int, std::size_t> messages;  // of each rank
    std::string unsuited;
};

std::map<long, Candidate> candidates_in(const std::vector<Trial>& trials) {
    std::map<long, Candidate> all;
    for (const Trial& trial : trials) {
        Candidate& candidate = all[trial.trial];
        candidate.test = trial.test;
        candidate.calls += trial.calls;
        candidate.messages[trial.rank] = trial.messages;
        candidate.unsuited = trial.unsuited.empty() ? candidate.unsuited : trial.unsuited;
    }
    return all;
}

/// The trials to explore. Of two trials of a test with the same messages, only the first is explored.
std::map<long, Candidate> chosen(const SimulatedRun& rehearsal, Proof& proof) {
    std::map<long, Candidate> some;
    std::set<std::pair<std::string, std::map<int, std::size_t>>> seen;
    std::set<std::string> with_messages;
    for (const auto& [number, candidate] : candidates_in(rehearsal.trials)) {
        if (candidate.calls == 0) {
            continue;
        }
        with_messages.insert(candidate.test);
        if (!candidate.unsuited.empty()) {
            const std::string text = candidate.test + ": " + candidate.unsuited;
            if (std::ranges::find(proof.left_out, text) == proof.left_out.end()) {
                proof.left_out.push_back(text);
            }
            continue;
        }
        if (seen.insert({candidate.test, candidate.messages}).second) {
            some.emplace(number, candidate);
        } else {
            ++proof.repeated;
        }
    }
    for (const TestResult& test : rehearsal.tests) {
        if (test.status == State::skipped) {
            proof.left_out.push_back(test.name + ": " + test.message);
        } else if (!with_messages.contains(test.name)) {
            proof.left_out.push_back(test.name + ": no messages");
        }
    }
    return some;
}

/// The trial that went wrong: the first that a rank reports. If no rank could report any, it is the last one begun: its ranks hang.
long wrong_trial(const SimulatedRun& rehearsal) {
    const auto found = std::ranges::find(rehearsal.trials, true, &Trial::failed);
    return found == rehearsal.trials.end() ? rehearsal.last_trial : found->trial;
}

std::vector<simulation::Message> messages_of(const SimulatedRun& run, long trial) {
    std::vector<simulation::Message> some;
    std::ranges::copy_if(run.messages, std::back_inserter(some), [&](const auto& message) {
        return message.trial == trial;
    });
    return some;
}

bool is_wrong(const TestResult& test) {
    return test.status != State::pass && test.status != State::skipped;
}

/// The test that goes wrong when this order is taken again.
WrongOrder take_again(Context& context, const Claim& claim, long trial, const std::string& path) {
    SimulatedTests tests = tests_of(claim);
    tests.order.trial = trial;
    tests.replay = path;
    const SimulatedRun run = run_simulated_tests(context, tests);
    const auto found = std::ranges::find_if(run.tests, is_wrong);
    if (found == run.tests.end()) {
        throw CommandError(
            exit_status::kFailed,
            fmt::format(
                "the order {}:{} does not go wrong: was it found for another file, or on another "
                "number of ranks?",
                trial, path
            )
        );
    }
    return {*found, fmt::format("{}:{}", trial, path), run.messages};
}

class Prover {
  public:
    Prover(Context& context, const Claim& claim) : context_(context), claim_(claim) {}

    Proof all() {
        const SimulatedRun rehearsal = run_simulated_tests(context_, tests_of(claim_));
        const auto failed = std::ranges::find_if(rehearsal.tests, is_wrong);
        if (failed != rehearsal.tests.end() && failed->status == State::not_started) {
            throw CommandError(exit_status::kFailed, failed->message);
        }
        std::map<long, Candidate> candidates = chosen(rehearsal, proof_);
        if (failed != rehearsal.tests.end()) {
            // the first order already fails
            candidates = {{wrong_trial(rehearsal), {failed->name, 0, {}, {}}}};
            rehearsed_ = {*failed, "", messages_of(rehearsal, candidates.begin()->first)};
            proof_.repeated = 0;
            proof_.left_out.clear();
        }
        for (const auto& [number, candidate] : candidates) {
            if (!go_through(number, candidate, candidates.size())) {
                break;
            }
        }
        if (failed != rehearsal.tests.end() && !proof_.wrong) {
            proof_.cut_short =
                fmt::format("{} fails in another way: {}", failed->name, in_one_line(*failed));
        }
        progress_.clear();
        proof_.seconds = watch_.elapsed_s();
        return proof_;
    }

  private:
    /// Whether to go on.
    bool go_through(long number, const Candidate& candidate, std::size_t count) {
        simulation::TestOrder order = tests_of(claim_).order;
        order.trial = number;
        const Bounds left{
            claim_.most_states - proof_.states(), claim_.time_limit_s - watch_.elapsed_s()};
        const Exploration found =
            explore(context_, claim_.module, claim_.ranks, order, left, [&](long states) {
                progress_.show(fmt::format(
                    "proving on {} ranks: {} of {} trials, {} states, {:.0f} s", claim_.ranks,
                    proof_.explored.size(), count, proof_.states() + states, watch_.elapsed_s()
                ));
            });
        proof_.explored.push_back(
            {candidate.test, number, candidate.calls, found.states, found.seconds}
        );
        if (!found.why.empty()) {
            proof_.cut_short = found.why;
        }
        if (found.end != Exploration::End::cut_short && found.end != Exploration::End::right) {
            progress_.clear();
            proof_.wrong = seen_again(number, found.path);
        }
        return found.end == Exploration::End::right;
    }

    /// The wrong order once more, for its report. SimGrid cannot repeat every path; then the rehearsal's report serves.
    WrongOrder seen_again(long number, const std::string& path) {
        try {
            return take_again(context_, claim_, number, path);
        } catch (const CommandError&) {
            if (!rehearsed_) {
                throw;
            }
            return *rehearsed_;
        }
    }

    Context& context_;
    const Claim& claim_;
    std::optional<WrongOrder> rehearsed_;  // where the first order that is tried goes wrong
    Stopwatch watch_;
    ProgressLine progress_;
    Proof proof_;
};

}  // namespace

long Proof::states() const {
    long all = 0;
    for (const Explored& some : explored) {
        all += some.states;
    }
    return all;
}

Proof prove(Context& context, const Claim& claim) {
    return Prover(context, claim).all();
}

WrongOrder replay(Context& context, const Claim& claim, const std::string& replay) {
    const std::size_t colon = replay.find(':');
    long trial = 0;
    const char* const end = replay.data() + std::min(colon, replay.size());
    const auto [rest, error] = std::from_chars(replay.data(), end, trial);
    if (colon == std::string::npos || error != std::errc() || rest != end || trial < 1 ||
        replay.find_first_not_of("0123456789;/", colon + 1) != std::string::npos) {
        throw UsageError("--replay takes what prove has printed, such as '3:1;2;1;3'");
    }
    return take_again(context, claim, trial, replay.substr(colon + 1));
}

}  // namespace dist::cli
