// What the agent of a node must do. First what it decides, in every order of events; then its loop, in a time that costs none,
// where workers, other nodes and the user act by a script; at the end its workers are real processes.
#include "exercises/10_elastic/elastic_agent.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/elastic/worker_processes.hpp"
#include "course/runtime/store.hpp"
#include "tests/10_elastic/agent_text.hpp"
#include "tests/10_elastic/agent_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/virtual_time.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

void on_one(const std::function<void()>& body) {
    on_ranks({1}, [&](const Communicator&) { body(); });
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
    Ms waits{0};         // in next()
    Ms breaks = kNever;  // holds() is false from then on
    Ms finishes{0};      // the workers of the other nodes have ended well
    Ms throws = kNever;  // the rendezvous throws from then on
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

// ---- three nodes: agents in threads that go on one at a time, with rounds that they make together

/// A node with two workers.
struct NodeScript {
    std::map<std::int64_t, WorkerScript> rounds = {};  // of worker 0; in all others it ends well
    Ms comes{0};
    Ms signal = kNever;  // to its agent: SIGTERM
};

class Job {
  public:
    std::vector<NodeScript> nodes;
    std::vector<AgentResult> results;               // by node
    std::vector<std::vector<std::int64_t>> rounds;  // that each was in

    /// Runs all agents to their ends. False if one throws.
    Comparison play(std::uint64_t seed) {
        VirtualTime time(seed);
        time_ = &time;
        std::vector<std::function<void()>> plots;
        std::vector<std::unique_ptr<Node>> all;
        results.resize(nodes.size());
        rounds.resize(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all.push_back(std::make_unique<Node>(*this, static_cast<int>(i)));
            plots.emplace_back([this, i, &all] {
                time_->sleep(nodes[i].comes);
                results[i] = all[i]->agent.run();
            });
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].signal != kNever) {
                plots.emplace_back([this, i, &all] {
                    time_->sleep(nodes[i].signal);
                    all[i]->agent.interrupt(SIGTERM);
                });
            }
        }
        for (const std::string& end : time.run(plots)) {
            if (!end.empty()) {
                return {false, end};
            }
        }
        return {};
    }

    /// Whether the agent of a node ended so, after so many restarts, in those rounds.
    [[nodiscard]] Comparison ends(
        std::size_t node, AgentEnd end, int restarts, const std::vector<std::int64_t>& its_rounds
    ) const {
        const auto text = [](AgentEnd how, int paid, const std::vector<std::int64_t>& numbers) {
            std::string all = text_of(how) + ", restarts " + std::to_string(paid) + ", rounds";
            for (const std::int64_t number : numbers) {
                all += " " + std::to_string(number);
            }
            return all;
        };
        const AgentResult& got = results[node];
        return {
            got.end == end && got.restarts == restarts && rounds[node] == its_rounds,
            "node " + std::to_string(node) + ": expected " + text(end, restarts, its_rounds) +
                ", got " + text(got.end, got.restarts, rounds[node])};
    }

  private:
    static constexpr Ms kLastCall = 500ms;

    struct Node : Rounds, WorkerGroup {
        Node(Job& its, int number)
            : job(its),
              me(number),
              clock(*its.time_),
              agent(
                  *this, *this, clock, {.max_restarts = 1, .monitor_interval = 100ms, .grace = 1s}
              ) {}

        std::optional<WorkerRound> next() override { return job.next(*this); }
        bool holds() override {
            job.time_->pass();
            return job.members_.contains(me) && job.members_.size() == job.size_ &&
                   job.waiting_.empty();
        }
        bool finish() override {
            job.time_->pass();
            job.finished_.insert(me);
            return job.finished_.size() == job.size_;
        }
        void leave() override {
            job.time_->pass();
            job.members_.erase(me);
            job.waiting_.erase(me);
        }
        void close() override {
            job.time_->pass();
            job.is_closed_ = true;
        }
        void start(const WorkerRound& round, int) override { job.start(*this, round); }
        std::vector<WorkerEnd> ended() override { return workers.ended(clock.now()); }
        void signal(int number) override { workers.signal(number, clock.now()); }

        Job& job;
        int me;
        VirtualClock clock;
        ScriptedWorkers workers;
        ElasticAgent agent;
    };

    /// Waits until all others have left their round, and as many as will come have come.
    std::optional<WorkerRound> next(Node& node) {
        members_.erase(node.me);
        waiting_.insert(node.me);
        last_came_ = time_->now();
        for (;;) {
            if (is_closed_) {
                waiting_.erase(node.me);
                return std::nullopt;
            }
            if (members_.empty() && time_->now() - last_came_ >= kLastCall) {
                members_ = std::exchange(waiting_, {});
                finished_.clear();
                size_ = members_.size();
                ++number_;
            }
            if (members_.contains(node.me)) {
                rounds[static_cast<std::size_t>(node.me)].push_back(number_);
                return WorkerRound{.number = number_, .workers = 2};
            }
            time_->sleep(50ms);
        }
    }

    void start(Node& node, const WorkerRound& round) {
        const auto& scripts = nodes[static_cast<std::size_t>(node.me)].rounds;
        const auto found = scripts.find(round.number);
        const WorkerScript first = found == scripts.end() ? kEndsWell : found->second;
        const bool is_good = first.exit_code == 0 && first.signal == 0;
        node.workers.start({first, is_good ? first : kRuns}, time_->now());
    }

    VirtualTime* time_ = nullptr;
    std::set<int> members_;   // of the round that has begun; those that left are not
    std::set<int> waiting_;   // for the next one
    std::set<int> finished_;  // of the members
    std::size_t size_ = 0;    // of the round, when it began
    std::int64_t number_ = 0;
    Ms last_came_{0};
    bool is_closed_ = false;
};

/// Plays a job with several seeds: which agent goes on first where several could.
void with_jobs(const std::vector<NodeScript>& nodes, const std::function<void(const Job&)>& looks) {
    on_one([&] {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            INFO("seed " << seed);
            Job job;
            job.nodes = nodes;
            const Comparison result = job.play(seed);
            REQUIRE(result);
            looks(job);
        }
    });
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

TEST_CASE("agent_step: whatever happens to two workers, in every order, it keeps what it promises"
) {
    on_one([] {
        for (const int max_restarts : {0, 1, 2}) {
            INFO("max_restarts " << max_restarts);
            const Walked walked = walk(AgentGame(max_restarts));
            REQUIRE(compared(walked));
            INFO("worlds that the walk came to: " << walked.states);
            CHECK(walked.states > 30);
        }
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

TEST_CASE("ElasticAgent: those that the agent ended are terminated, and not failed") {
    on_one([] {
        Scene scene;
        scene.settings.max_restarts = 0;
        scene.rounds = {
            {.workers = {
                 {.ends = 100ms},
                 kRuns,
                 kCrashes,
                 {.told_exit = 143},
                 {.told_exit = 0},
                 kIgnores}}};
        play(scene, [](const Scene& it) {
            const std::vector<WorkerFate> fates = {WorkerFate::succeeded, WorkerFate::terminated,
                                                   WorkerFate::failed,    WorkerFate::terminated,
                                                   WorkerFate::succeeded, WorkerFate::terminated};
            REQUIRE(it.result.workers.size() == fates.size());
            for (const auto& [end, fate] : it.result.workers) {
                const WorkerFate right = fates.at(static_cast<std::size_t>(end.local_rank));
                INFO(text_of(end) << ": expected " << text_of(right) << ", got " << text_of(fate));
                CHECK(fate == right);
            }
            CHECK(it.cause_is(exits(2, 1, 150ms)));
        });
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

TEST_CASE("ElasticAgent: a signal while workers end for a restart: they end, and no round follows"
) {
    on_one([] {
        Scene scene;
        scene.rounds = {{.workers = {kCrashes, kIgnores}}};
        scene.signals = {{650ms, SIGINT}};
        play(scene, [](const Scene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL", "1300 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::interrupted, 1));
        });
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

TEST_CASE("ElasticAgent on three nodes: a failure on one starts all again, and costs that one alone"
) {
    const NodeScript crashes = {.rounds = {{1, kCrashes}}};
    const NodeScript runs = {.rounds = {{1, kRuns}}};
    with_jobs({crashes, runs, {}}, [](const Job& job) {
        CHECK(job.ends(0, AgentEnd::succeeded, 1, {1, 2}));
        CHECK(job.ends(1, AgentEnd::succeeded, 0, {1, 2}));
        CHECK(job.ends(2, AgentEnd::succeeded, 0, {1, 2}));
    });
}

TEST_CASE("ElasticAgent on three nodes: those that are done wait for the one that takes longer") {
    with_jobs({{}, {.rounds = {{1, {.ends = 60s}}}}, {}}, [](const Job& job) {
        for (const std::size_t node : {0U, 1U, 2U}) {
            CHECK(job.ends(node, AgentEnd::succeeded, 0, {1}));
        }
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
