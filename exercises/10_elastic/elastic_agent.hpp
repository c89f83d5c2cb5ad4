// Exercise 10: the agent of a node, the heart of torchrun. It starts workers, watches them, and
// starts them again.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/rounds.hpp"
#include "course/runtime/worker_group.hpp"

namespace dist {

struct AgentSettings {
    int max_restarts = 3;                                               // after failures
    Clock::Duration monitor_interval = std::chrono::milliseconds(100);  // from look to look
    Clock::Duration grace = std::chrono::seconds(30);                   // from SIGTERM to SIGKILL
};

/// A node's workers.
enum class WorkerState {
    init,       // none have been started
    healthy,    // they run
    unhealthy,  // they have been told to end, and some still live
    stopped,    // none live; a round is to come, or the end
    succeeded,  // all have ended well; those of other nodes may still run
    failed,     // none live; one failed, and no restart was left
};

/// What became of a worker that has ended.
enum class WorkerFate {
    succeeded,
    failed,      // ended badly, by itself
    terminated,  // ended badly, after it had been told to end
};

struct WorkerRecord {
    WorkerEnd end = {};
    WorkerFate fate = WorkerFate::succeeded;

    bool operator==(const WorkerRecord&) const = default;
};

/// Why an agent ends.
enum class AgentEnd {
    succeeded,    // all workers of all nodes have ended well
    failed,       // a worker failed, and no restart was left
    closed,       // no more rounds begin: another node has given up, or all is done
    interrupted,  // a signal told the agent to end
    error,        // the rendezvous threw an Error, such as Timeout
};

/// All that an agent knows.
struct AgentState {
    WorkerState workers = WorkerState::init;
    WorkerRound round = {};                // of the workers
    int alive = 0;                         // workers that were started, and were not seen to end
    std::vector<WorkerRecord> ended = {};  // the others of this round, in any order
    int restarts = 0;                      // that were paid: never more than max_restarts
    std::optional<AgentEnd> end = {};      // set once, when it is known how all will end
    Clock::Duration told_at{0};            // of unhealthy workers: when they were told to end
    bool killed = false;                   // SIGKILL has been sent to them

    [[nodiscard]] bool is_over() const { return end && alive == 0; }

    bool operator==(const AgentState&) const = default;
};

/// What an agent notices.
struct AgentEvent {
    enum class Kind {
        round,        // `round` begins
        no_round,     // no more rounds begin
        looked,       // at the workers: `ended` did so since the last look; often none
        changed,      // the round does not hold any more
        finished,     // the workers of all nodes have ended well
        interrupted,  // the agent was told to end, by `signal`
        error,        // the rendezvous threw `text`
    };

    Kind kind = Kind::looked;
    Clock::Duration at{0};  // when it was noticed
    WorkerRound round = {};
    std::vector<WorkerEnd> ended = {};
    int signal = 0;
    std::string text = {};
};

/// What an agent does, in this order.
struct AgentActions {
    bool start = false;  // the workers of the new state's round
    int signal = 0;      // to all workers that live; 0: none
    bool close = false;  // the rendezvous
    bool leave = false;  // it

    bool operator==(const AgentActions&) const = default;
};

struct AgentStep {
    AgentState state;
    AgentActions actions;
};

/// Decides what follows from an event. A pure function: the result depends on the arguments alone.
///
/// event        workers        what follows
/// round        init, stopped  start: the workers are healthy, all are alive, and none has ended
/// no_round     init, stopped  stopped; the end is closed
/// looked       healthy        Who ended badly has failed. If one has, that costs one restart or,
///                             if all max_restarts are paid, the end is failed; and the others are
///                             told to end by SIGTERM. If all have ended well: succeeded.
///              unhealthy      Who ended badly before told_at has failed, who ended badly later is
///                             terminated; neither costs anything. If some still live, and it is
///                             grace or longer since told_at: SIGKILL, once.
///              else           nothing
/// changed      healthy        They are told to end by SIGTERM; it costs nothing.
///              succeeded      stopped, since they are needed again; it costs nothing
///              else           nothing
/// finished     succeeded      the end is succeeded; close, and leave
/// interrupted  any            The end is interrupted. Healthy ones are told to end by event.signal.
/// error        any            The end is error. Healthy ones are told to end by SIGTERM.
///
/// Who is told to end is unhealthy, as long as one lives. When none lives, perhaps at once, the
/// workers are stopped, and it is time to leave if the end is interrupted. If it is failed, they are
/// failed, and it is time to close, and leave. The end that came first stays.
///
/// state    as earlier steps have left it; not over.
/// event    one that the table has a line for.
AgentStep agent_step(AgentState state, const AgentEvent& event, const AgentSettings& settings);

/// An event, and what came of it.
struct AgentLogEntry {
    AgentEvent event;
    WorkerState workers;  // after it
    AgentActions actions;
};

struct AgentResult {
    AgentEnd end = AgentEnd::closed;
    WorkerRound round = {};                  // the last one that workers were started in
    std::vector<WorkerRecord> workers = {};  // of that round, in any order
    std::optional<WorkerEnd> cause = {};     // of them, the one that failed first; none if none did
    int restarts = 0;                        // after failures
    std::string error = {};                  // what the rendezvous threw, if it did
};

/// The agent of one node: the loop that notices, decides by agent_step(), and acts.
///
/// Source  PyTorch, torch/distributed/elastic/agent/server/api.py, which has the states. Of scripts it
///         records those that it has ended itself as failed, too.
class ElasticAgent {
  public:
    using Log = std::function<void(const AgentLogEntry&)>;

    /// rounds, group, clock  outlive the agent.
    /// log                   is told each event that changed the state, or that something was done for.
    ///
    /// Errors  std::invalid_argument unless max_restarts >= 0, monitor_interval > 0 and grace >= 0.
    ElasticAgent(
        Rounds& rounds,
        WorkerGroup& group,
        Clock& clock,
        const AgentSettings& settings,
        Log log = nullptr
    );

    /// Runs the node's workers until the end. Called once.
    ///
    /// While it has no round, it asks for the next. In a round it looks at the workers every
    /// monitor_interval, by the clock; and with each look, also while workers are told to end or those
    /// of other nodes still run, it calls holds(). Where all its workers have ended well it calls
    /// finish() as well, and if that is true, holds() does not matter: who has finished may be gone.
    ///
    /// A signal to the agent comes before all else, also one that comes during ended(): that workers
    /// died of it as well costs nothing. If it came while next() waited, nothing follows from what
    /// that returned.
    ///
    /// Once the rendezvous has thrown an Error, it is not called any more. Whatever close() and leave()
    /// throw is ignored.
    ///
    /// Cost    a look is one call each of ended() and holds(), and of finish() where its own have ended.
    /// Errors  those of the group.
    AgentResult run();

    /// Tells the agent to end by SIGTERM or SIGINT. A signal handler may call it, and any thread.
    void interrupt(int signal) { signal_ = signal; }

  private:
    /// Decides what follows from an event, does it, and tells the log.
    void apply(const AgentEvent& event);

    /// Asks the rendezvous what is new for a node in this state, and applies it.
    void ask();

    /// Whether a signal has come, and nothing has followed from it yet.
    [[nodiscard]] bool is_interrupted() const { return signal_ != 0 && !state_.end; }

    Rounds& rounds_;
    WorkerGroup& group_;
    Clock& clock_;
    AgentSettings settings_;
    Log log_;
    AgentState state_ = {};
    std::optional<std::string> error_ = {};  // what the rendezvous threw
    std::atomic<int> signal_ = 0;            // that told the agent to end
};

}  // namespace dist
