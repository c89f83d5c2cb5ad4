// What the agent of a node must do. First what it decides, event by event; then its loop, in a time that costs none, where workers,
// other nodes and the user act by a script; at the end its workers are real processes.
#include "exercises/10_elastic/elastic_agent.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/elastic/worker_processes.hpp"
#include "course/runtime/store.hpp"
#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

// ---- what an agent decides, event by event

AgentEvent begins(std::int64_t number, int workers = 2) {
    return {
        .kind = Kind::round,
        .round = {.number = number, .first_rank = 4, .workers = workers, .world_size = 9}};
}

AgentEvent looks(Ms at, std::vector<WorkerEnd> ended = {}) {
    return {.kind = Kind::looked, .at = at, .ended = std::move(ended)};
}

AgentEvent notices(Kind kind, Ms at = 0ms) {
    return {.kind = kind, .at = at, .signal = SIGINT, .text = "gone"};
}

/// "unhealthy, 1 alive, failed, 1 paid; SIGTERM; end failed"
std::string words(const AgentStep& step) {
    const AgentState& state = step.state;
    std::string all = text(text_of(state.workers), ", ", state.alive, " alive");
    for (const WorkerFate fate :
         {WorkerFate::succeeded, WorkerFate::failed, WorkerFate::terminated}) {
        for (auto n = std::ranges::count(state.ended, fate, &WorkerRecord::fate); n > 0; --n) {
            all += ", " + text_of(fate);
        }
    }
    all += state.restarts > 0 ? text(", ", state.restarts, " paid") : "";
    all += step.actions != AgentActions{} ? "; " + text_of(step.actions) : "";
    all += state.end ? "; end " + text_of(state.end) : "";
    return all;
}

struct Turn {
    AgentEvent event;
    std::string then;
};

/// What happens to an agent, with a grace of 200 ms, and what must follow.
void life(const std::string& what, int max_restarts, const std::vector<Turn>& turns) {
    const AgentSettings settings = {.max_restarts = max_restarts, .grace = 200ms};
    std::string story;
    AgentState state;
    WorkerRound round;
    for (const auto& [event, then] : turns) {
        const AgentStep step = agent_step(state, event, settings);
        story += "\n  " + text_of(event) + " -> " + words(step);
        INFO(what << ":" << story);
        INFO("expected " << then);
        REQUIRE(words(step) == then);
        round = event.kind == Kind::round ? event.round : round;
        REQUIRE(step.state.round == round);
        state = step.state;
    }
}

// ---- one node: what its workers, the other nodes and the user do stands in a script

constexpr Ms kNever = 24h;

/// A worker of one round; times count from its start.
struct WorkerScript {
    Ms ends = kNever;      // by itself
    int exit_code = 0;     // with this code
    int signal = 0;        // or by this signal
    Ms noticed{0};         // so much later the group says so
    bool ignores = false;  // every signal but SIGKILL
    int told_exit = -1;    // ends with this code when it is told to; -1: by the signal
    Ms dies_after = 20ms;  // told to end, it takes so long
};

const WorkerScript kRuns = {};
const WorkerScript kCrashes = {.ends = 150ms, .exit_code = 1};
const WorkerScript kEndsWell = {.ends = 250ms};
const WorkerScript kIgnores = {.ignores = true};

class ScriptedWorkers {
  public:
    void start(const std::vector<WorkerScript>& scripts, Ms now) {
        workers_.clear();
        for (const WorkerScript& script : scripts) {
            WorkerEnd end = exits(static_cast<int>(workers_.size()), script.exit_code, kNever);
            end.signal = script.signal;
            end.at = script.ends == kNever ? kNever : now + script.ends;
            workers_.push_back({script, end});
        }
    }

    std::vector<WorkerEnd> ended(Ms now) {
        std::vector<WorkerEnd> ended;
        for (Worker& worker : workers_) {
            if (!worker.is_told && worker.end.at + worker.script.noticed <= now) {
                worker.is_told = true;
                ended.push_back(worker.end);
            }
        }
        return ended;
    }

    void signal(int number, Ms now) {
        for (auto& [script, end, is_told] : workers_) {
            const bool is_killed = number == SIGKILL;
            const Ms then = now + (is_killed ? 0ms : script.dies_after);
            if (end.at > then && (is_killed || !script.ignores)) {
                const bool by_code = !is_killed && script.told_exit >= 0;
                end.exit_code = by_code ? script.told_exit : 0;
                end.signal = by_code ? 0 : number;
                end.at = then;
            }
        }
    }

    [[nodiscard]] int alive(Ms now) const {
        return static_cast<int>(std::ranges::count_if(workers_, [&](const Worker& worker) {
            return worker.end.at > now;
        }));
    }

    [[nodiscard]] bool ended_well(Ms now) const {
        return std::ranges::all_of(workers_, [&](const Worker& worker) {
            return worker.end.at <= now && worker.end.is_good();
        });
    }

  private:
    struct Worker {
        WorkerScript script;
        WorkerEnd end;         // which is to come
        bool is_told = false;  // to the agent, that it has ended
    };

    std::vector<Worker> workers_;
};

/// A round, as next() gives it, and how it goes on. Times count from its begin.
struct Script {
    enum class Kind { round, none, timeout };

    std::vector<WorkerScript> workers = {{}, {}};
    Ms waits{0};           // in next()
    Ms breaks = kNever;    // holds() is false from then on
    Ms finishes{0};        // the workers of the other nodes have ended well
    bool they_go = false;  // those nodes: behind the first call of holds() or finish() after that
    Ms throws = kNever;    // the rendezvous throws from then on
    Kind kind = Kind::round;
};

class Scene {
  public:
    std::vector<Script> rounds;
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
            harness::text(
                "expected the end ", text_of(end), ", restarts ", restarts, ". Got ",
                text_of(result.end), ", restarts ", result.restarts
            )};
    }

    /// Whether the workers were told so many restarts, start by start.
    [[nodiscard]] Comparison told(const std::vector<int>& expected) const {
        return {
            told_restarts == expected,
            harness::text(
                "restarts that workers are told: expected ", expected, ", got ", told_restarts
            )};
    }

    [[nodiscard]] Comparison cause_is(const std::optional<WorkerEnd>& cause) const {
        const auto words = [](const std::optional<WorkerEnd>& end) {
            return end ? text_of(*end) : "none";
        };
        return {
            result.cause == cause,
            "the cause: expected " + words(cause) + ", got " + words(result.cause)};
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
        explicit Group(Scene& its) : scene(its) {}
        void start(const WorkerRound& round, int restarts) override {
            scene.start(round, restarts);
        }
        std::vector<WorkerEnd> ended() override { return scene.ended(); }
        void signal(int number) override { scene.signal(number); }
        Scene& scene;
    };

    struct Meeting : Rounds {
        explicit Meeting(Scene& its) : scene(its) {}
        std::optional<WorkerRound> next() override { return scene.next(); }
        bool holds() override {
            scene.beats.push_back(scene.now_);
            return scene.ask("holds") && scene.now_ < scene.begin_ + scene.script_.breaks &&
                   !scene.others_have_gone();
        }
        bool finish() override {
            scene.check(
                scene.workers_.ended_well(scene.now_), "finish() before all workers have ended well"
            );
            return scene.ask("finish") &&
                   (scene.script_.they_go ? scene.others_have_gone()
                                          : scene.now_ >= scene.begin_ + scene.script_.finishes);
        }
        void leave() override { scene.last_call("leave"); }
        void close() override { scene.last_call("close"); }
        Scene& scene;
    };

    struct Time : Clock {
        explicit Time(Scene& its) : scene(its) {}
        Duration now() override { return scene.now_; }
        void sleep(Duration duration) override {
            scene.sleeps.push_back(duration);
            scene.pass(duration);
        }
        Scene& scene;
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

    bool others_have_gone() {
        return script_.they_go && now_ >= begin_ + script_.finishes && late_calls_++ > 0;
    }

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
        is_in_ = script_.kind == Script::Kind::round;
        if (script_.kind == Script::Kind::timeout) {
            has_thrown_ = true;
            throw Timeout("no round in time");
        }
        if (script_.kind == Script::Kind::none) {
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
    Script script_;
    Ms begin_{0};
    bool is_in_ = false;
    bool has_thrown_ = false;
    int late_calls_ = 0;  // of holds() and finish(), since the other nodes have finished
    ScriptedWorkers workers_;
};

const Script kCrashing = {.workers = {kCrashes, kRuns}};
const Script kGood = {.workers = {kEndsWell, kEndsWell}};

/// Plays a scene, and looks at what the agent did.
void play(Scene scene, const std::function<void(const Scene&)>& looks) {
    const Comparison is_fair = scene.play();
    INFO(scene.text());
    REQUIRE(is_fair);
    looks(scene);
}

// ---- real processes

using elastic::WorkerProcesses;

/// Round after round of one node of two workers, among three nodes; they all hold.
class OneNode : public Rounds {
  public:
    std::optional<WorkerRound> next() override {
        return WorkerRound{
            .number = ++number_,
            .node = 1,
            .nodes = 3,
            .first_rank = 2,
            .workers = 2,
            .world_size = 6};
    }
    bool holds() override { return true; }
    bool finish() override { return true; }
    void leave() override {}
    void close() override {}

  private:
    std::int64_t number_ = 0;
};

}  // namespace

TEST_CASE("agent_step: workers start, and succeed when all have ended well, unless members change"
) {
    on_one([] {
        const WorkerEnd one = exits(0, 0, 50ms);
        const WorkerEnd other = exits(1, 0, 150ms);
        life(
            "all end well", 1,
            {{begins(1), "healthy, 2 alive; start"},
             {looks(100ms, {one}), "healthy, 1 alive, succeeded"},
             {looks(200ms, {other}), "succeeded, 0 alive, succeeded, succeeded"},
             {looks(300ms), "succeeded, 0 alive, succeeded, succeeded"},
             {notices(Kind::finished),
              "succeeded, 0 alive, succeeded, succeeded; close, leave; end succeeded"}}
        );
        life(
            "members change afterwards", 1,
            {{begins(1), "healthy, 2 alive; start"},
             {looks(100ms, {one, other}), "succeeded, 0 alive, succeeded, succeeded"},
             {notices(Kind::changed), "stopped, 0 alive, succeeded, succeeded"},
             {begins(2, 3), "healthy, 3 alive; start"}}
        );
        life(
            "members change before", 0,
            {{begins(1), "healthy, 2 alive; start"},
             {notices(Kind::changed, 50ms), "unhealthy, 2 alive; SIGTERM"},
             {looks(100ms, {exits(0, 0, 60ms)}), "unhealthy, 1 alive, succeeded"},
             {looks(200ms, {exits(1, 9, 60ms)}), "stopped, 0 alive, succeeded, terminated"},
             {notices(Kind::no_round), "stopped, 0 alive, succeeded, terminated; end closed"}}
        );
        life("no round begins", 0, {{notices(Kind::no_round), "stopped, 0 alive; end closed"}});
    });
}

TEST_CASE(
    "agent_step: a failure costs one restart, and ends the others: after the grace by SIGKILL, once"
) {
    on_one([] {
        life(
            "the others take their time", 1,
            {
                {begins(1, 3), "healthy, 3 alive; start"},
                {looks(100ms, {exits(0, 1, 90ms)}), "unhealthy, 2 alive, failed, 1 paid; SIGTERM"},
                {notices(Kind::changed, 150ms), "unhealthy, 2 alive, failed, 1 paid"},
                {looks(299ms), "unhealthy, 2 alive, failed, 1 paid"},
                {looks(300ms), "unhealthy, 2 alive, failed, 1 paid; SIGKILL"},
                {looks(400ms, {dies(1, SIGKILL, 301ms)}),
                 "unhealthy, 1 alive, failed, terminated, 1 paid"},
                {looks(500ms, {dies(2, SIGKILL, 301ms)}),
                 "stopped, 0 alive, failed, terminated, terminated, 1 paid"},
                {begins(2), "healthy, 2 alive, 1 paid; start"},
                {notices(Kind::changed, 600ms), "unhealthy, 2 alive, 1 paid; SIGTERM"},
                {looks(800ms), "unhealthy, 2 alive, 1 paid; SIGKILL"},
            }
        );
        life(
            "two failed, one of them is noticed late; the third one exits with a code when it is "
            "told to",
            3,
            {
                {begins(1, 3), "healthy, 3 alive; start"},
                {looks(100ms, {dies(0, SIGSEGV, 90ms)}),
                 "unhealthy, 2 alive, failed, 1 paid; SIGTERM"},
                {looks(200ms, {exits(1, 2, 99ms)}), "unhealthy, 1 alive, failed, failed, 1 paid"},
                {looks(300ms, {exits(2, 143, 100ms)}),
                 "stopped, 0 alive, failed, failed, terminated, 1 paid"},
            }
        );
        life(
            "all have ended: nobody is told", 2,
            {
                {begins(1), "healthy, 2 alive; start"},
                {looks(100ms, {exits(0, 0, 10ms), exits(1, 1, 20ms)}),
                 "stopped, 0 alive, succeeded, failed, 1 paid"},
                {begins(2, 1), "healthy, 1 alive, 1 paid; start"},
                {looks(200ms, {exits(0, 1, 190ms)}), "stopped, 0 alive, failed, 2 paid"},
                {begins(3, 1), "healthy, 1 alive, 2 paid; start"},
                {looks(300ms, {exits(0, 1, 290ms)}),
                 "failed, 0 alive, failed, 2 paid; close, leave; end failed"},
            }
        );
    });
}

TEST_CASE("agent_step: the end that came first stays, and it is time to go when no worker lives") {
    on_one([] {
        const Turn start = {begins(1), "healthy, 2 alive; start"};
        const WorkerEnd crash = exits(0, 1, 90ms);
        const WorkerEnd killed = dies(1, SIGKILL, 301ms);
        life(
            "no restart is left, then the agent gets a signal, and the store is gone", 0,
            {
                start,
                {looks(100ms, {crash}), "unhealthy, 1 alive, failed; SIGTERM; end failed"},
                {notices(Kind::interrupted, 150ms), "unhealthy, 1 alive, failed; end failed"},
                {notices(Kind::error, 150ms), "unhealthy, 1 alive, failed; end failed"},
                {looks(300ms), "unhealthy, 1 alive, failed; SIGKILL; end failed"},
                {looks(400ms, {killed}),
                 "failed, 0 alive, failed, terminated; close, leave; end failed"},
            }
        );
        life(
            "a signal, and then workers end badly", 1,
            {
                start,
                {notices(Kind::interrupted, 100ms), "unhealthy, 2 alive; SIGINT; end interrupted"},
                {looks(200ms, {crash}), "unhealthy, 1 alive, failed; end interrupted"},
                {looks(400ms, {killed}),
                 "stopped, 0 alive, failed, terminated; leave; end interrupted"},
            }
        );
        life(
            "a signal while workers end", 1,
            {
                start,
                {looks(100ms, {crash}), "unhealthy, 1 alive, failed, 1 paid; SIGTERM"},
                {notices(Kind::interrupted, 150ms),
                 "unhealthy, 1 alive, failed, 1 paid; end interrupted"},
                {looks(400ms, {killed}),
                 "stopped, 0 alive, failed, terminated, 1 paid; leave; end interrupted"},
            }
        );
        life(
            "the store is gone", 1,
            {
                start,
                {notices(Kind::error, 100ms), "unhealthy, 2 alive; SIGTERM; end error"},
                {looks(300ms), "unhealthy, 2 alive; SIGKILL; end error"},
                {looks(400ms, {dies(0, SIGKILL, 301ms), killed}),
                 "stopped, 0 alive, terminated, terminated; end error"},
            }
        );
        const WorkerEnd good = exits(0, 0, 50ms);
        const Turn done = {looks(100ms, {good}), "succeeded, 0 alive, succeeded"};
        life(
            "a signal when all have ended well", 1,
            {
                {begins(1, 1), "healthy, 1 alive; start"},
                done,
                {notices(Kind::interrupted), "stopped, 0 alive, succeeded; leave; end interrupted"},
            }
        );
        life(
            "the store is gone when all have ended well", 1,
            {
                {begins(1, 1), "healthy, 1 alive; start"},
                done,
                {notices(Kind::error), "stopped, 0 alive, succeeded; end error"},
            }
        );
        life(
            "a signal, and no worker", 1,
            {{notices(Kind::interrupted), "stopped, 0 alive; leave; end interrupted"}}
        );
        life("no store, and no worker", 1, {{notices(Kind::error), "stopped, 0 alive; end error"}});
    });
}

TEST_CASE("ElasticAgent: workers that all ended well wait for those of other nodes, and it beats") {
    on_one([] {
        Scene scene;
        scene.rounds = {{.workers = {{.ends = 300ms}, {.ends = 500ms}}, .finishes = 20s}};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "20000 ms close", "20000 ms leave"}));
            CHECK(it.ends(AgentEnd::succeeded, 0));
            CHECK(it.beats_between(0ms, 20s));
            CHECK(it.result.workers.size() == 2);
            CHECK(it.cause_is(std::nullopt));
        });
    });
}

TEST_CASE("ElasticAgent: where all have finished, nodes that have gone are no change of members") {
    on_one([] {
        Scene scene;
        scene.rounds = {{.workers = {kEndsWell}, .breaks = 5s, .finishes = 5s}};
        play(scene, [](const Scene& it) { CHECK(it.ends(AgentEnd::succeeded, 0)); });
        INFO("the last node finishes, and goes, between two calls of this one");
        scene.rounds = {{.workers = {kEndsWell}, .finishes = 5s, .they_go = true}};
        play(scene, [](const Scene& it) { CHECK(it.ends(AgentEnd::succeeded, 0)); });
    });
}

TEST_CASE("ElasticAgent: a change of members while it waits for others starts all workers again") {
    on_one([] {
        Scene scene;
        scene.rounds = {
            {.workers = {kEndsWell, kEndsWell}, .breaks = 2s, .finishes = kNever}, kGood};
        play(scene, [](const Scene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "2000 ms next", "2000 ms start 2", "2300 ms close",
                 "2300 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::succeeded, 0));
        });
    });
}

TEST_CASE("ElasticAgent: the cause is who failed first, not who was noticed first") {
    on_one([] {
        Scene scene;
        scene.settings.max_restarts = 0;
        scene.rounds = {
            {.workers = {
                 {.ends = 190ms, .exit_code = 1},
                 {.ends = 150ms, .exit_code = 2},
                 {.ends = 110ms},
                 {.ends = 170ms, .signal = SIGKILL}}}};
        play(scene, [](const Scene& it) { CHECK(it.cause_is(exits(1, 2, 150ms))); });
        scene.rounds = {
            {.workers = {
                 {.ends = 250ms, .exit_code = 1},
                 {.ends = 180ms, .signal = SIGSEGV, .noticed = 200ms},
                 {.ends = 290ms, .exit_code = 1, .noticed = 100ms},
                 {.told_exit = 9}}}};
        INFO("worker 1 was noticed after worker 0 had failed, and the others were told to end");
        play(scene, [](const Scene& it) { CHECK(it.cause_is(dies(1, SIGSEGV, 180ms))); });
    });
}

TEST_CASE(
    "ElasticAgent: it ends all workers, with grace, and beats meanwhile, before the next round"
) {
    on_one([] {
        Scene scene;
        scene.rounds = {{.workers = {kCrashes, kIgnores, kRuns}}, kGood};
        play(scene, [](const Scene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL", "1300 ms next",
                 "1300 ms start 2", "1600 ms close", "1600 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::succeeded, 1));
            CHECK(it.beats_between(0ms, 1300ms));
            INFO("the workers of the last round, in any order");
            const std::vector<WorkerRecord> both = {{exits(0, 0, 1550ms)}, {exits(1, 0, 1550ms)}};
            CHECK(std::ranges::is_permutation(it.result.workers, both));
        });
    });
}

TEST_CASE("ElasticAgent: after max_restarts restarts the next failure ends it, and the rendezvous"
) {
    on_one([] {
        for (const int max_restarts : {0, 1, 3}) {
            Scene scene;
            scene.settings.max_restarts = max_restarts;
            std::vector<int> restarts;
            std::vector<std::string> calls;
            Ms now{0};
            for (int i = 0; i <= max_restarts; ++i, now += 300ms) {
                scene.rounds.push_back(kCrashing);
                restarts.push_back(i);
                calls.push_back(text_of(now) + " next");
                calls.push_back(text_of(now) + " start " + std::to_string(i + 1));
                calls.push_back(text_of(now + 200ms) + " SIGTERM");
            }
            calls.push_back(text_of(now) + " close");
            calls.push_back(text_of(now) + " leave");
            INFO("max_restarts is " << max_restarts);
            play(scene, [&](const Scene& it) {
                CHECK(it.did(calls));
                CHECK(it.ends(AgentEnd::failed, max_restarts));
                CHECK(it.told(restarts));
                CHECK(it.cause_is(exits(0, 1, now - 150ms)));
                CHECK(it.result.round.number == max_restarts + 1);
            });
        }
    });
}

TEST_CASE("ElasticAgent: changes of members cost no restart, and are none to the workers") {
    on_one([] {
        Scene scene;
        scene.settings.max_restarts = 1;
        const Script broken = {.workers = {kRuns, kRuns}, .breaks = 250ms};
        scene.rounds = {broken, broken, broken, broken, kCrashing, broken, kGood};
        play(scene, [](const Scene& it) {
            CHECK(it.ends(AgentEnd::succeeded, 1));
            CHECK(it.told({0, 0, 0, 0, 0, 1, 1}));
        });
    });
}

TEST_CASE("ElasticAgent: where no more rounds begin it ends, and closes and leaves nothing") {
    on_one([] {
        const Script none = {.waits = 3s, .kind = Script::Kind::none};
        Scene scene;
        scene.rounds = {none};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next"}));
            CHECK(it.ends(AgentEnd::closed, 0));
        });
        scene.rounds = {kCrashing, none};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "200 ms SIGTERM", "300 ms next"}));
            CHECK(it.ends(AgentEnd::closed, 1));
        });
    });
}

TEST_CASE("ElasticAgent: an Error of the rendezvous ends the workers and the agent, and is the last"
) {
    on_one([] {
        Scene scene;
        scene.rounds = {kCrashing, {.waits = 600s, .kind = Script::Kind::timeout}};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "200 ms SIGTERM", "300 ms next"}));
            CHECK(it.ends(AgentEnd::error, 1));
            CHECK(it.result.error == "no round in time");
        });
        scene.rounds = {{.workers = {kRuns, kIgnores}, .throws = 950ms}};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "1000 ms SIGTERM", "2000 ms SIGKILL"}));
            CHECK(it.ends(AgentEnd::error, 0));
            CHECK(it.result.error == "the store is gone");
        });
        scene.rounds = {{.workers = {kEndsWell}, .finishes = kNever, .throws = 950ms}};
        play(scene, [](const Scene& it) { CHECK(it.ends(AgentEnd::error, 0)); });
        scene.rounds = {kCrashing};
        scene.settings.max_restarts = 0;
        scene.throws_at_end = true;
        play(scene, [](const Scene& it) { CHECK(it.ends(AgentEnd::failed, 0)); });
    });
}

TEST_CASE(
    "ElasticAgent: a signal to it is passed on, and it leaves when all have ended, open behind it"
) {
    on_one([] {
        for (const int signal : {SIGTERM, SIGINT}) {
            Scene scene;
            scene.rounds = {{.workers = {kRuns, kIgnores}}};
            scene.signals = {{450ms, signal}};
            play(scene, [&](const Scene& it) {
                CHECK(it.did(
                    {"0 ms next", "0 ms start 1", "500 ms " + text_of_signal(signal),
                     "1500 ms SIGKILL", "1600 ms leave"}
                ));
                CHECK(it.ends(AgentEnd::interrupted, 0));
                CHECK(it.beats_between(0ms, 1600ms));
            });
        }
    });
}

TEST_CASE("ElasticAgent: a signal that comes while there are no workers starts none") {
    on_one([] {
        Scene scene;
        const auto leaves = [&](const std::vector<std::string>& calls) {
            play(scene, [&](const Scene& it) {
                CHECK(it.did(calls));
                CHECK(it.ends(AgentEnd::interrupted, 0));
            });
        };
        scene.signals = {{0ms, SIGTERM}};
        leaves({"0 ms leave"});
        scene.signals = {{5s, SIGTERM}};
        scene.rounds = {{.waits = 10s}};
        leaves({"0 ms next", "10000 ms leave"});
        scene.rounds = {
            {.waits = 10s, .kind = Script::Kind::none}};  // next() may give up at a signal
        leaves({"0 ms next", "10000 ms leave"});
        scene.rounds = {{.waits = 10s, .kind = Script::Kind::timeout}};
        leaves({"0 ms next"});
        scene.rounds = {{.workers = {kEndsWell}, .finishes = kNever}};
        leaves({"0 ms next", "0 ms start 1", "5000 ms leave"});
    });
}

TEST_CASE("ElasticAgent: workers that died of the signal that it got as well are no failure") {
    on_one([] {
        Scene scene;
        scene.rounds = {{.workers = {{.ends = 450ms, .signal = SIGTERM}, kRuns}}};
        scene.signals = {{450ms, SIGTERM}};
        play(scene, [](const Scene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "500 ms SIGTERM", "600 ms leave"}));
            CHECK(it.ends(AgentEnd::interrupted, 0));
        });
        scene.signals_in_ended = true;
        for (const int max_restarts : {3, 0}) {
            INFO("the signal comes in ended(); max_restarts " << max_restarts);
            scene.settings.max_restarts = max_restarts;
            play(scene, [](const Scene& it) {
                CHECK(it.did({"0 ms next", "0 ms start 1", "500 ms SIGTERM", "600 ms leave"}));
                CHECK(it.ends(AgentEnd::interrupted, 0));
            });
        }
    });
}

TEST_CASE("ElasticAgent: it looks at its workers once an interval, by its clock") {
    on_one([] {
        for (const Ms interval : {100ms, 250ms}) {
            Scene scene;
            scene.settings.monitor_interval = interval;
            scene.rounds = {{.workers = {{.ends = 100 * interval}}, .finishes = 120 * interval}};
            play(scene, [&](const Scene& it) {
                INFO("looks: " << it.looks.size() << ", sleeps: " << it.sleeps.size());
                CHECK(std::ranges::count(it.sleeps, interval) == std::ssize(it.sleeps));
                CHECK((99 <= it.looks.size() && it.looks.size() <= 122));
                CHECK((119 <= it.sleeps.size() && it.sleeps.size() <= 122));
            });
        }
    });
}

TEST_CASE("ElasticAgent: the log is told each event that changed something, with what it did") {
    on_one([] {
        Scene scene;
        scene.rounds = {kCrashing, kGood};
        play(scene, [](const Scene& it) {
            std::vector<std::string> got;
            for (const auto& [event, workers, actions] : it.log) {
                got.push_back(text_of(event) + " -> " + text_of(workers) + ", " + text_of(actions));
            }
            const std::string both_end =
                "looked at 600 ms, worker 0 exited with 0 at 550 ms, worker 1 "
                "exited with 0 at 550 ms -> succeeded, nothing";
            const std::vector<std::string> expected = {
                "round -> healthy, start",
                "looked at 200 ms, worker 0 exited with 1 at 150 ms -> unhealthy, SIGTERM",
                "looked at 300 ms, worker 1 died of SIGTERM at 220 ms -> stopped, nothing",
                "round -> healthy, start",
                both_end,
                "finished -> succeeded, close, leave"};
            std::string text;
            for (const std::string& line : got) {
                text += line + "\n";
            }
            INFO("the log:\n" << text);
            CHECK(got == expected);
        });
    });
}

TEST_CASE("ElasticAgent refuses settings that make no sense") {
    on_one([] {
        const auto made = [](const AgentSettings& settings) {
            return thrown_as([&] {
                OneNode node;
                WorkerProcesses group({"true"});
                SteadyClock clock;
                const ElasticAgent agent(node, group, clock, settings);
            });
        };
        CHECK(made({.max_restarts = 0, .monitor_interval = 1ms, .grace = 0ms}) == "nothing");
        CHECK(made({.max_restarts = -1}) == kInvalidArgument);
        CHECK(made({.monitor_interval = 0ms}) == kInvalidArgument);
        CHECK(made({.grace = -1ms}) == kInvalidArgument);
    });
}

TEST_CASE("ElasticAgent on processes: one fails, the other is killed, and the next round succeeds"
) {
    on_one([] {
        std::array<int, 2> ends = {-1, -1};
        REQUIRE(pipe(ends.data()) == 0);
        const auto path = [&](std::size_t end) {
            return "/proc/self/fd/" + std::to_string(ends.at(end));
        };
        OneNode node;
        WorkerProcesses group(
            {"sh", "-c",
             "case $SHARDLINGS_ROUND$RANK$WORLD_SIZE in 126) read x < " + path(0) +
                 "; exit 3;; 136) trap '' TERM; echo go > " + path(1) +
                 "; exec sleep 1000;; esac; exit $((1 - TORCHELASTIC_RESTART_COUNT))"}
        );
        SteadyClock clock;
        std::vector<std::pair<int, int>> all;  // exit codes, and signals, of both rounds
        ElasticAgent agent(
            node, group, clock, {.max_restarts = 1, .monitor_interval = 5ms, .grace = 50ms},
            [&](const AgentLogEntry& entry) {
                for (const WorkerEnd& end : entry.event.ended) {
                    all.emplace_back(end.exit_code, end.signal);
                }
            }
        );
        const AgentResult result = agent.run();
        close(ends[0]);
        close(ends[1]);
        CHECK(result.end == AgentEnd::succeeded);
        CHECK(result.restarts == 1);
        CHECK(result.round.number == 2);
        REQUIRE(all.size() == 4);
        CHECK(all[0] == std::pair(3, 0));
        CHECK(all[1] == std::pair(0, SIGKILL));
    });
}
