// What the agent of a node must do. First three nodes that decide by agent_step(), in all orders of what they do; then its loop, in a
// time that costs none, where workers, other nodes and the user act by a script; at the end its workers are real processes.
#include "exercises/10_elastic/elastic_agent.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/elastic/worker_processes.hpp"
#include "course/runtime/store.hpp"
#include "tests/10_elastic/agent_nodes_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/calls.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr Ms kNever = 24h;

/// A worker of one round; times count from its start.
struct WorkerScript {
    Ms ends = kNever;      // by itself
    int exit_code = 0;     // with this code
    int signal = 0;        // or by this signal
    Ms noticed{0};         // so much later the group says so
    bool ignores = false;  // every signal but SIGKILL
};

const WorkerScript kRuns = {};
const WorkerScript kCrashes = {.ends = 150ms, .exit_code = 1};
const WorkerScript kEndsWell = {.ends = 250ms};
const WorkerScript kIgnores = {.ignores = true};

/// A round, as next() gives it, and how it goes on. Times count from its begin.
struct Script {
    std::vector<WorkerScript> workers = {{}, {}};
    Ms waits{0};           // in next()
    Ms breaks = kNever;    // holds() is false from then on
    Ms finishes{0};        // the workers of the other nodes have ended well
    bool they_go = false;  // those nodes: behind the first call of holds() or finish() after that
    Ms throws = kNever;    // the rendezvous throws from then on
    bool is_none = false;  // next() returns none
    bool is_late = false;  // next() throws Timeout
};

const Script kCrashing = {.workers = {kCrashes, kRuns}};
const Script kGood = {.workers = {kEndsWell, kEndsWell}};

/// What happens to an agent.
struct Plot {
    std::vector<Script> rounds = {};
    std::map<Ms, int> signals = {};  // to the agent, by time
    AgentSettings settings = {.max_restarts = 3, .monitor_interval = 100ms, .grace = 1s};
    bool signals_in_ended = false;  // they come in ended(), when it has looked
    bool throws_at_end = false;     // close() and leave() throw
};

/// All that an agent is given, and what it does with it.
class Scene : public Rounds, public WorkerGroup, public Clock {
  public:
    AgentResult result;
    std::vector<AgentLogEntry> log;
    std::vector<std::string> calls;  // all but holds(), finish() and ended(), with their times
    std::vector<int> told_restarts;  // at each start
    std::string violation;           // the first rule of Rounds or WorkerGroup that was broken

    /// Runs the agent to its end.
    explicit Scene(Plot plot) : plot_(std::move(plot)) {
        ElasticAgent agent(*this, *this, *this, plot_.settings, [this](const AgentLogEntry& entry) {
            log.push_back(entry);
        });
        agent_ = &agent;
        pass(0ms);
        try {
            result = agent.run();
        } catch (const Endless& endless) {
            violation = text(now_, ": ", endless.what());
        }
        check(alive() == 0, text("run() returns, and ", alive(), " of its workers live"));
    }

    /// "failed in round 4, restarts 3, first worker 0 exited with 1 at 150 ms"
    [[nodiscard]] std::string end() const {
        return text(
            text_of(result.end), " in round ", result.round.number, ", restarts ", result.restarts,
            result.cause ? ", first " + text_of(*result.cause) : "",
            result.error.empty() ? "" : ": " + result.error
        );
    }

    // what the agent calls

    std::optional<WorkerRound> next() override {
        count();
        alone("next");
        if (number_ == plot_.rounds.size()) {
            throw Endless("it asks for more rounds than the script has");
        }
        script_ = plot_.rounds[number_++];
        is_in_ = false;
        pass(script_.waits);
        begin_ = last_beat_ = last_look_ = now_;
        has_thrown_ = script_.is_late;
        if (script_.is_late) {
            throw Timeout("no round in time");
        }
        looks_ = 0;
        is_in_ = !script_.is_none;
        const int n = static_cast<int>(script_.workers.size());
        round_ = {static_cast<std::int64_t>(number_), 1, 3, n, n, 3 * n};
        return is_in_ ? std::optional(round_) : std::nullopt;
    }
    bool holds() override {
        last_beat_ = now_;
        ask("holds");
        return now_ < begin_ + script_.breaks && !others_have_gone();
    }
    bool finish() override {
        const bool all_good = std::ranges::all_of(workers_, [&](const Worker& worker) {
            return worker.end.at <= now_ && worker.end.is_good();
        });
        check(all_good, "finish() before all workers have ended well");
        ask("finish");
        return script_.they_go ? others_have_gone() : now_ >= begin_ + script_.finishes;
    }
    void leave() override { ends("leave"); }
    void close() override { ends("close"); }

    void start(const WorkerRound& round, int restarts) override {
        alone(text("start ", round.number));
        check(is_in_ && round == round_, "start() with another round than next() gave");
        told_restarts.push_back(restarts);
        workers_.clear();
        for (const WorkerScript& script : script_.workers) {
            const int rank = static_cast<int>(workers_.size());
            workers_.push_back({script, {rank, script.exit_code, script.signal, now_ + script.ends}}
            );
        }
    }
    std::vector<WorkerEnd> ended() override {
        count();
        ++looks_;
        last_look_ = now_;
        std::vector<WorkerEnd> all;
        for (Worker& worker : workers_) {
            if (!worker.is_told && worker.end.at + worker.script.noticed <= now_) {
                worker.is_told = true;
                all.push_back(worker.end);
            }
        }
        if (plot_.signals_in_ended) {
            interrupt_until(now_);
        }
        return all;
    }
    void signal(int number) override {
        say(text_of_signal(number));
        const bool kills = number == SIGKILL;
        const Ms then = now_ + (kills ? 0ms : 20ms);
        for (auto& [script, end, is_told] : workers_) {
            if (end.at > then && (kills || !script.ignores)) {
                end = dies(end.local_rank, number, then);
            }
        }
    }

    Duration now() override { return now_; }
    void sleep(Duration duration) override {
        const Ms interval = plot_.settings.monitor_interval;
        check(duration == interval, text("it sleeps for ", duration));
        check(std::exchange(looks_, 0) <= 1, "it looks at its workers twice in an interval");
        check(
            now_ + duration - last_look_ <= interval || alive() == 0,
            text("no ended() after ", last_look_, ", and workers live")
        );
        check(
            now_ + duration - last_beat_ <= interval || !is_in_ || has_thrown_,
            text("no holds() after ", last_beat_, ": the other nodes take this one for dead")
        );
        pass(duration);
    }

  private:
    /// The code under test goes on and on; no Error, since the agent takes those for the rendezvous's.
    struct Endless : std::logic_error {
        using std::logic_error::logic_error;
    };

    struct Worker {
        WorkerScript script;
        WorkerEnd end;         // which is to come
        bool is_told = false;  // to the agent, that it has ended
    };

    void check(bool holds, const std::string& sentence) {
        violation = holds || !violation.empty() ? violation : text(now_, ": ", sentence);
    }

    void say(const std::string& call) { calls.push_back(text(now_, " ", call)); }

    /// Time goes on, and signals come to the agent.
    void pass(Ms duration) {
        const Ms then = now_ + duration;
        if (!plot_.signals_in_ended) {
            interrupt_until(then);
        }
        now_ = then;
    }

    void interrupt_until(Ms then) {
        auto& left = plot_.signals;
        for (; !left.empty() && left.begin()->first <= then; left.erase(left.begin())) {
            now_ = std::max(now_, left.begin()->first);
            agent_->interrupt(left.begin()->second);
        }
    }

    void count() {
        if (++calls_ > 5000) {
            throw Endless("it looks again and again, and does not end");
        }
    }

    [[nodiscard]] std::ptrdiff_t alive() const {
        return std::ranges::count_if(workers_, [&](const Worker& it) { return it.end.at > now_; });
    }

    bool others_have_gone() {
        return script_.they_go && now_ >= begin_ + script_.finishes && late_calls_++ > 0;
    }

    void ask(const std::string& call) {
        count();
        check(is_in_, call + "() in no round");
        check(!has_thrown_, call + " after the rendezvous has thrown an Error");
        has_thrown_ = has_thrown_ || now_ >= begin_ + script_.throws;
        if (has_thrown_) {
            throw Error("the store is gone");
        }
    }

    /// A call that is made when no worker lives.
    void alone(const std::string& call) {
        say(call);
        check(alive() == 0, call + " while workers live");
        check(!has_thrown_, call + " after the rendezvous has thrown an Error");
    }

    void ends(const std::string& call) {
        alone(call);
        if (plot_.throws_at_end) {
            throw std::length_error("the store is gone, and says so by no dist::Error");
        }
    }

    Plot plot_;
    ElasticAgent* agent_ = nullptr;
    Ms now_{0};
    int calls_ = 0;
    std::size_t number_ = 0;  // of the round
    Script script_;
    WorkerRound round_;
    Ms begin_{0};
    Ms last_beat_{0};  // holds()
    Ms last_look_{0};  // ended()
    int looks_ = 0;    // since the last sleep, or the begin of the round
    bool is_in_ = false;
    bool has_thrown_ = false;
    int late_calls_ = 0;  // of holds() and finish(), since the other nodes have finished
    std::vector<Worker> workers_;
};

using Lines = std::vector<std::string>;

/// Whether the agent keeps the rules of what it is given, and comes to this end, by these calls if some are named.
Comparison plays(const Plot& plot, const std::string& end, const Lines& calls = {}) {
    const Scene scene(plot);
    if (!scene.violation.empty()) {
        const auto first = scene.calls | std::views::take(15);
        return {false, text(scene.violation, "; its first calls: ", first)};
    }
    if (scene.end() != end) {
        return {false, text("the end: expected ", end, ", got ", scene.end())};
    }
    return calls.empty() ? Comparison{} : same_calls(scene.calls, calls);
}

/// Round after round of one node of two workers, among three nodes; they all hold.
class OneNode : public Rounds {
  public:
    std::optional<WorkerRound> next() override { return WorkerRound{++number_, 1, 3, 2, 2, 6}; }
    bool holds() override { return true; }
    bool finish() override { return true; }
    void leave() override {}
    void close() override {}

  private:
    std::int64_t number_ = 0;
};

}  // namespace

TEST_CASE(
    "agent_step: whatever three nodes and their workers do in whatever order, they come to an end"
) {
    on_one([] { CHECK(compared(walk(NodesGame(0, 0)))); });
}

TEST_CASE(
    "ElasticAgent: workers that all ended well wait for those of others, or start again with them"
) {
    on_one([] {
        const Script waits = {.workers = {{.ends = 300ms}, {.ends = 500ms}}, .finishes = 20s};
        const Lines calls = {"0 ms next", "0 ms start 1", "20000 ms close", "20000 ms leave"};
        for (const Ms interval : {100ms, 250ms}) {
            const Plot plot = {.rounds = {waits}, .settings = {.monitor_interval = interval}};
            CHECK(plays(plot, "succeeded in round 1, restarts 0", calls));
        }
        INFO("nodes that go when all have finished are no change of members");
        const Script all_go = {.workers = {kEndsWell}, .breaks = 5s, .finishes = 5s};
        CHECK(plays({.rounds = {all_go}}, "succeeded in round 1, restarts 0"));
        const Script last_goes = {.workers = {kEndsWell}, .finishes = 5s, .they_go = true};
        CHECK(plays({.rounds = {last_goes}}, "succeeded in round 1, restarts 0"));
        INFO("members change before");
        const Script done = {.workers = {kEndsWell}, .breaks = 2s, .finishes = kNever};
        CHECK(plays(
            {.rounds = {done, kGood}}, "succeeded in round 2, restarts 0",
            {"0 ms next", "0 ms start 1", "2000 ms next", "2000 ms start 2", "2300 ms close",
             "2300 ms leave"}
        ));
    });
}

TEST_CASE("ElasticAgent: the cause is who failed first, not who was noticed first") {
    on_one([] {
        const auto plot = [](const std::vector<WorkerScript>& workers) {
            return Plot{.rounds = {{.workers = workers}}, .settings = {.max_restarts = 0}};
        };
        const WorkerScript killed = {.ends = 170ms, .signal = SIGKILL};
        CHECK(plays(
            plot({{190ms, 1}, {150ms, 2}, {110ms}, killed}),
            "failed in round 1, restarts 0, first worker 1 exited with 2 at 150 ms"
        ));
        INFO("workers 1 and 2 are noticed after worker 0 has failed, and worker 3 was told to end");
        const WorkerScript crashed = {.ends = 180ms, .signal = SIGSEGV, .noticed = 200ms};
        const WorkerScript failed = {.ends = 290ms, .exit_code = 1, .noticed = 100ms};
        const Plot late = plot({{250ms, 1}, crashed, failed, kRuns});
        CHECK(plays(late, "failed in round 1, restarts 0, first worker 1 died of SIGSEGV at 180 ms")
        );
        const Scene scene(late);
        const auto fate = [](const WorkerRecord& one) { return one.fate; };
        CHECK(std::ranges::count(scene.result.workers, WorkerFate::failed, fate) == 3);
    });
}

TEST_CASE(
    "ElasticAgent: it ends all workers, with grace, before the next round, and counts restarts"
) {
    on_one([] {
        const WorkerScript lingers = {.noticed = 200ms, .ignores = true};
        const Script crashes = {.workers = {kCrashes, lingers, kRuns}, .breaks = 300ms};
        const Script changes = {.workers = {kIgnores}, .breaks = 250ms};
        Plot plot = {.rounds = {crashes, changes, kGood}};
        CHECK(plays(
            plot, "succeeded in round 3, restarts 1",
            {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL", "1400 ms next",
             "1400 ms start 2", "1700 ms SIGTERM", "2700 ms SIGKILL", "2800 ms next",
             "2800 ms start 3", "3100 ms close", "3100 ms leave"}
        ));
        INFO("the workers of the last round, in any order");
        const std::vector<WorkerRecord> both = {{exits(0, 0, 3050ms)}, {exits(1, 0, 3050ms)}};
        CHECK(std::ranges::is_permutation(Scene(plot).result.workers, both));
        INFO("where no other worker lives none is told to end");
        const Script alone = {.workers = {kCrashes}};
        CHECK(plays(
            {.rounds = {alone, alone}, .settings = {.max_restarts = 1}},
            "failed in round 2, restarts 1, first worker 0 exited with 1 at 350 ms",
            {"0 ms next", "0 ms start 1", "200 ms next", "200 ms start 2", "400 ms close",
             "400 ms leave"}
        ));
        const Script broken = {.workers = {kRuns, kRuns}, .breaks = 250ms};
        plot.rounds = {broken, broken, kCrashing, broken, kGood};
        CHECK(plays(plot, "succeeded in round 5, restarts 1"));
        INFO("restarts that workers are told: changes of members are none");
        CHECK(Scene(plot).told_restarts == std::vector{0, 0, 0, 1, 1});
    });
}

TEST_CASE(
    "ElasticAgent: where no round begins it ends, and an Error of the rendezvous is the last call"
) {
    on_one([] {
        const Script none = {.waits = 3s, .is_none = true};
        const Script late = {.waits = 600s, .is_late = true};
        CHECK(plays({.rounds = {none}}, "closed in round 0, restarts 0", {"0 ms next"}));
        const Lines calls = {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "300 ms next"};
        CHECK(plays(
            {.rounds = {kCrashing, none}},
            "closed in round 1, restarts 1, first worker 0 exited with 1 at 150 ms", calls
        ));
        CHECK(plays(
            {.rounds = {kCrashing, late}},
            "error in round 1, restarts 1, first worker 0 exited with 1 at 150 ms: no round in "
            "time",
            calls
        ));
        CHECK(plays(
            {.rounds = {{.workers = {kRuns, kIgnores}, .throws = 950ms}}},
            "error in round 1, restarts 0: the store is gone",
            {"0 ms next", "0 ms start 1", "1000 ms SIGTERM", "2000 ms SIGKILL"}
        ));
        const Script waits = {.workers = {kEndsWell}, .finishes = kNever, .throws = 950ms};
        CHECK(plays({.rounds = {waits}}, "error in round 1, restarts 0: the store is gone"));
        INFO("what close() and leave() throw is ignored");
        CHECK(plays(
            {.rounds = {kCrashing}, .settings = {.max_restarts = 0}, .throws_at_end = true},
            "failed in round 1, restarts 0, first worker 0 exited with 1 at 150 ms"
        ));
    });
}

TEST_CASE(
    "ElasticAgent: a signal to it is passed on and costs nothing, and it leaves when all have ended"
) {
    on_one([] {
        for (const int signal : {SIGTERM, SIGINT}) {
            CHECK(plays(
                {.rounds = {{.workers = {kRuns, kIgnores}}}, .signals = {{450ms, signal}}},
                "interrupted in round 1, restarts 0",
                {"0 ms next", "0 ms start 1", "500 ms " + text_of_signal(signal), "1500 ms SIGKILL",
                 "1600 ms leave"}
            ));
        }
        INFO("the end that came first stays");
        const Script crashes = {.workers = {kCrashes, kIgnores}, .throws = 450ms};
        const AgentSettings no_restart = {.max_restarts = 0, .grace = 1s};
        CHECK(plays(
            {.rounds = {crashes}, .signals = {{350ms, SIGINT}}, .settings = no_restart},
            "failed in round 1, restarts 0, first worker 0 exited with 1 at 150 ms: the store is "
            "gone",
            {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL"}
        ));
        INFO("a worker died of the signal that the agent got as well");
        Plot plot = {
            .rounds = {{.workers = {{.ends = 450ms, .signal = SIGTERM}, kRuns}}},
            .signals = {{450ms, SIGTERM}}};
        const Lines calls = {"0 ms next", "0 ms start 1", "500 ms SIGTERM", "600 ms leave"};
        const std::string end =
            "interrupted in round 1, restarts 0, first worker 0 died of SIGTERM at 450 ms";
        CHECK(plays(plot, end, calls));
        plot.signals_in_ended = true;
        for (const int max_restarts : {3, 0}) {
            INFO("the signal comes in ended(); max_restarts " << max_restarts);
            plot.settings.max_restarts = max_restarts;
            CHECK(plays(plot, end, calls));
        }
    });
}

TEST_CASE("ElasticAgent: a signal that comes while there are no workers starts none") {
    on_one([] {
        Plot plot = {.signals = {{0ms, SIGTERM}}};
        CHECK(plays(plot, "interrupted in round 0, restarts 0", {"0 ms leave"}));
        plot.signals = {{5s, SIGTERM}};
        for (const bool is_none : {false, true}) {
            INFO("next() waits, and returns none: " << is_none);  // it may give up at a signal
            plot.rounds = {{.waits = 10s, .is_none = is_none}};
            const Lines calls = {"0 ms next", "10000 ms leave"};
            CHECK(plays(plot, "interrupted in round 0, restarts 0", calls));
        }
        plot.rounds = {{.waits = 10s, .is_late = true}};
        CHECK(Scene(plot).calls == Lines{"0 ms next"});
        plot.rounds = {{.workers = {kEndsWell}, .finishes = kNever}};
        CHECK(plays(
            plot, "interrupted in round 1, restarts 0",
            {"0 ms next", "0 ms start 1", "5000 ms leave"}
        ));
    });
}

TEST_CASE("ElasticAgent: the log is told each event that changed something, with what it did") {
    on_one([] {
        const auto log = [](const Plot& plot) {
            Lines lines;
            const Scene scene(plot);
            for (const auto& [event, workers, actions] : scene.log) {
                const std::string what = text_of(event) + " -> " + text_of(workers);
                lines.push_back(what + ", " + text_of(actions));
            }
            return lines;
        };
        const Lines expected = {
            "round -> healthy, start",
            "looked at 200 ms, worker 0 exited with 1 at 150 ms -> unhealthy, SIGTERM",
            "looked at 300 ms, worker 1 died of SIGTERM at 220 ms -> stopped, nothing",
            "round -> healthy, start",
            "looked at 600 ms, worker 0 exited with 0 at 550 ms, worker 1 exited with 0 at 550 ms "
            "-> succeeded, nothing",
            "finished -> succeeded, close, leave"};
        CHECK(same_calls(log({.rounds = {kCrashing, kGood}}), expected));
        Plot plot = {.rounds = {{.workers = {kEndsWell}, .finishes = kNever, .throws = 950ms}}};
        CHECK(log(plot).back() == "error -> stopped, nothing");
        plot.signals = {{500ms, SIGINT}};
        CHECK(log(plot).back() == "interrupted -> stopped, leave");
    });
}

TEST_CASE("ElasticAgent refuses settings that make no sense") {
    on_one([] {
        const auto made = [](const AgentSettings& settings) {
            return thrown_as([&] { const Scene scene({.rounds = {kGood}, .settings = settings}); });
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
        elastic::WorkerProcesses group(
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
