// An agent in a time of the test's own: what its workers, the other nodes and the user do stands in a script.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/store.hpp"
#include "tests/10_elastic/agent_workers.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// A round, as next() gives it, and how it goes on. Times count from its begin.
struct RoundScript {
    enum class Kind { round, none, timeout };

    std::vector<WorkerScript> workers = {{}, {}};
    Ms waits{0};         // in next()
    Ms breaks = kNever;  // holds() is false from then on
    Ms finishes{0};      // the workers of the other nodes have ended well
    Ms throws = kNever;  // the rendezvous throws from then on
    Kind kind = Kind::round;
};

class AgentScene {
  public:
    std::vector<RoundScript> rounds;
    AgentSettings settings = {.max_restarts = 3, .monitor_interval = 100ms, .grace = 1s};
    std::map<Ms, int> signals;      // to the agent, by time
    bool signals_in_ended = false;  // those come in ended(), when it has looked
    bool throws_at_end = false;     // close() and leave() throw

    // what it did
    AgentResult result;
    std::vector<AgentLogEntry> log;
    std::vector<std::string> calls;  // all but holds(), finish() and ended(), with their times
    std::vector<Ms> looks;           // when ended() was called
    std::vector<Ms> beats;           // when holds() was
    std::vector<Ms> sleeps;
    std::vector<int> told_restarts;  // at each start
    std::string violation;           // the first rule of Rounds or WorkerGroup that was broken

    /// Runs the agent to its end. False if it broke a rule of what it was given.
    Comparison play() {
        Group group(*this);
        Meeting meeting(*this);
        Time time(*this);
        ElasticAgent agent(meeting, group, time, settings, [this](const AgentLogEntry& entry) {
            log.push_back(entry);
        });
        agent_ = &agent;
        pass(0ms);
        try {
            result = agent.run();
        } catch (const Endless& endless) {
            return {false, text_of(now_) + ": " + endless.what()};
        }
        if (violation.empty() && alive() > 0) {
            violation = "run() returns, and " + std::to_string(alive()) + " of its workers live";
        }
        return {violation.empty(), violation};
    }

    /// All that it did, for a report.
    [[nodiscard]] std::string text() const {
        std::string text = "the agent's calls:";
        for (const std::string& call : calls) {
            text += "\n  " + call;
        }
        return text;
    }

    [[nodiscard]] Comparison did(const std::vector<std::string>& expected) const {
        const auto [got, right] = std::ranges::mismatch(calls, expected);
        if (got == calls.end() && right == expected.end()) {
            return {};
        }
        return {
            false, "call " + std::to_string(got - calls.begin() + 1) + ": expected " +
                       (right == expected.end() ? "no more" : *right) + ", got " +
                       (got == calls.end() ? "no more" : *got)};
    }

    [[nodiscard]] Comparison ends(AgentEnd end, int restarts) const {
        return {
            result.end == end && result.restarts == restarts,
            "expected the end " + text_of(end) + ", restarts " + std::to_string(restarts) +
                ". Got " + text_of(result.end) + ", restarts " + std::to_string(result.restarts)};
    }

    /// Whether the workers were told so many restarts, start by start.
    [[nodiscard]] Comparison told(const std::vector<int>& expected) const {
        const auto text = [](const std::vector<int>& restarts) {
            std::string all;
            for (const int number : restarts) {
                all += " " + std::to_string(number);
            }
            return all;
        };
        return {
            told_restarts == expected, "restarts that workers are told: expected" + text(expected) +
                                           ", got" + text(told_restarts)};
    }

    [[nodiscard]] Comparison cause_is(const std::optional<WorkerEnd>& cause) const {
        const auto text = [](const std::optional<WorkerEnd>& end) {
            return end ? text_of(*end) : "none";
        };
        return {
            result.cause == cause,
            "the cause: expected " + text(cause) + ", got " + text(result.cause)};
    }

    /// Whether holds() was called at least every `interval` from one time to the other.
    [[nodiscard]] Comparison beats_between(Ms from, Ms to) const {
        Ms last = from;
        for (const Ms beat : beats) {
            if (beat >= from && beat <= to && beat - last <= settings.monitor_interval) {
                last = beat;
            }
        }
        return {
            to - last <= settings.monitor_interval,
            "no holds() after " + text_of(last) + ", and the node is in its round until " +
                text_of(to) + ": the others take it for dead"};
    }

  private:
    /// The code under test goes on and on; no Error, since the agent takes those for the rendezvous's.
    struct Endless : std::logic_error {
        using std::logic_error::logic_error;
    };

    struct Group : WorkerGroup {
        explicit Group(AgentScene& its) : scene(its) {}
        void start(const WorkerRound& round, int restarts) override {
            scene.start(round, restarts);
        }
        std::vector<WorkerEnd> ended() override { return scene.ended(); }
        void signal(int number) override { scene.signal(number); }
        AgentScene& scene;
    };

    struct Meeting : Rounds {
        explicit Meeting(AgentScene& its) : scene(its) {}
        std::optional<WorkerRound> next() override { return scene.next(); }
        bool holds() override {
            scene.beats.push_back(scene.now_);
            return scene.ask("holds") && scene.now_ < scene.begin_ + scene.script_.breaks;
        }
        bool finish() override {
            scene.check(
                scene.workers_.ended_well(scene.now_), "finish() before all workers have ended well"
            );
            return scene.ask("finish") && scene.now_ >= scene.begin_ + scene.script_.finishes;
        }
        void leave() override { scene.last_call("leave"); }
        void close() override { scene.last_call("close"); }
        AgentScene& scene;
    };

    struct Time : Clock {
        explicit Time(AgentScene& its) : scene(its) {}
        Duration now() override { return scene.now_; }
        void sleep(Duration duration) override {
            scene.sleeps.push_back(duration);
            scene.pass(duration);
        }
        AgentScene& scene;
    };

    void check(bool holds, const std::string& sentence) {
        if (!holds && violation.empty()) {
            violation = text_of(now_) + ": " + sentence;
        }
    }

    void say(const std::string& call) { calls.push_back(text_of(now_) + " " + call); }

    /// Time goes on, and signals come to the agent.
    void pass(Ms duration) {
        const Ms then = now_ + duration;
        if (!signals_in_ended) {
            interrupt_until(then);
        }
        steps_ = duration > 0ms ? 0 : steps_;
        now_ = then;
        if (now_ > 1h) {
            throw Endless("it still runs after an hour of the test's time");
        }
    }

    void interrupt_until(Ms then) {
        for (; !signals.empty() && signals.begin()->first <= then; signals.erase(signals.begin())) {
            now_ = std::max(now_, signals.begin()->first);
            agent_->interrupt(signals.begin()->second);
        }
    }

    /// A call that costs no time.
    void count() {
        if (++steps_ > 100) {
            throw Endless("it looks again and again, and does not sleep by its clock");
        }
    }

    [[nodiscard]] int alive() const { return workers_.alive(now_); }

    bool ask(const std::string& call) {
        count();
        check(is_in_, call + "() in no round");
        check(!has_thrown_, call + "() after the rendezvous has thrown an Error");
        if (now_ >= begin_ + script_.throws) {
            has_thrown_ = true;
            throw Error("the store is gone");
        }
        return true;
    }

    std::optional<WorkerRound> next() {
        count();
        check(alive() == 0, "next() while workers live");
        check(!has_thrown_, "next() after the rendezvous has thrown an Error");
        if (number_ == rounds.size()) {
            throw Endless("it asks for more rounds than the script has");
        }
        script_ = rounds[number_++];
        say("next");
        pass(script_.waits);
        begin_ = now_;
        is_in_ = script_.kind == RoundScript::Kind::round;
        if (script_.kind == RoundScript::Kind::timeout) {
            has_thrown_ = true;
            throw Timeout("no round in time");
        }
        if (script_.kind == RoundScript::Kind::none) {
            return std::nullopt;
        }
        return round();
    }

    [[nodiscard]] WorkerRound round() const {
        const int workers = static_cast<int>(script_.workers.size());
        return {
            .number = static_cast<std::int64_t>(number_),
            .node = 1,
            .nodes = 3,
            .first_rank = workers,
            .workers = workers,
            .world_size = 3 * workers};
    }

    void start(const WorkerRound& round, int restarts) {
        check(alive() == 0, "start() while workers of the round before live");
        check(is_in_ && round == this->round(), "start() with another round than next() gave");
        say("start " + std::to_string(round.number));
        told_restarts.push_back(restarts);
        workers_.start(script_.workers, now_);
    }

    std::vector<WorkerEnd> ended() {
        count();
        looks.push_back(now_);
        std::vector<WorkerEnd> ended = workers_.ended(now_);
        if (signals_in_ended) {
            interrupt_until(now_);
        }
        return ended;
    }

    void signal(int number) {
        say(text_of_signal(number));
        workers_.signal(number, now_);
    }

    void last_call(const std::string& call) {
        say(call);
        check(alive() == 0, call + "() while workers live");
        check(!has_thrown_, call + "() after the rendezvous has thrown an Error");
        if (throws_at_end) {
            throw std::length_error("the store is gone, and says so by no dist::Error");
        }
    }

    ElasticAgent* agent_ = nullptr;
    Ms now_{0};
    int steps_ = 0;
    std::size_t number_ = 0;  // of the round
    RoundScript script_;
    Ms begin_{0};
    bool is_in_ = false;
    bool has_thrown_ = false;
    ScriptedWorkers workers_;
};

}  // namespace dist::harness
