// Exercise 04: who is in, and as which rank. Processes that know one store, and not each other, become ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/rendezvous_state.hpp"
#include "course/runtime/store.hpp"

namespace dist {

/// How nodes come together: the same settings on all of them.
struct RendezvousSettings {
    using Duration = Clock::Duration;

    int min_nodes = 1;
    int max_nodes = 1;
    Duration last_call = std::chrono::seconds(30);      // how long min_nodes wait for more
    Duration join_timeout = std::chrono::seconds(600);  // how long a node waits for a round
    Duration heartbeat = std::chrono::seconds(5);       // how often a node counts up
    Duration dead_after = std::chrono::seconds(15);  // who has not counted up for so long is dead
    Duration poll = std::chrono::seconds(1);         // from one look at the store to the next

    bool operator==(const RendezvousSettings&) const = default;
};

/// What one node knows for itself, beside the state that all share.
struct NodeView {
    using Duration = Clock::Duration;

    /// A count, and since when this node has seen it unchanged.
    struct Seen {
        std::int64_t count = 0;
        Duration since{0};

        bool operator==(const Seen&) const = default;
    };

    std::string name = {};  // of the node itself
    RendezvousSettings settings = {};
    std::int64_t round = 0;                  // the last round that it was in; 0: none yet
    Duration time{0};                        // its own time, by which it judges everything
    Duration deadline{0};                    // when it gives up, by its own time
    std::optional<Duration> looked = {};     // what its clock said when it last looked
    std::map<std::string, Seen> beats = {};  // heartbeats, by node; its own as well
    Seen last_call = {};                     // the state's last_call

    /// What it has noted of a node's heartbeats; count 0 if nothing.
    [[nodiscard]] Seen seen(const std::string& node) const {
        const auto found = beats.find(node);
        return found == beats.end() ? Seen{} : found->second;
    }

    /// Whether it has seen a count unchanged for so long, or longer.
    [[nodiscard]] bool unchanged(const Seen& seen, Duration duration) const {
        return time - seen.since >= duration;
    }

    bool operator==(const NodeView&) const = default;
};

/// Notes what this node sees in `state`, when its clock says `now`.
///
/// The node's own time goes on as its clock does since it last looked, but never back, and by one heartbeat at the most:
/// a clock that jumps, or a machine that stood still, makes nobody look dead. The first look takes no time.
/// A count that is another than the one noted, or new, is noted with the own time as it is then.
///
/// returns  `view` with this look.
NodeView observe(NodeView view, const RendezvousState& state, Clock::Duration now);

/// join   to be in a round that is newer than its last one.
/// stay   to go on in its round.
/// leave  to be in no round, and to wait for none.
/// close  that no more rounds begin.
enum class Wish { join, stay, leave, close };

/// write      store `state`, then decide anew.
/// wait       nothing to do before the next look.
/// done       the wish has come true.
/// new_round  of stay: the round does not hold any more.
/// timed_out  of join: no round came in time. The node is out.
/// closed     of join: there will be no round.
enum class Action { write, wait, done, new_round, timed_out, closed };

struct Decision {
    RendezvousState state;
    Action action = Action::wait;
};

/// Decides what a node does next. A pure function: the result depends on the arguments alone.
///
/// In all wishes: other members and waiting nodes whose count this node has seen unchanged for dead_after or longer are
/// dead: they go. Its own count, as a member or waiting, goes up by one once it has seen that unchanged for a heartbeat.
///
/// join, of what is true the first:
///     closed                                            action closed
///     the round is complete and newer than view.round,
///       and the node is a member                        done
///     its own time has come to its deadline             off both lists: timed_out
///     the round is complete                             it waits, and is no member any more
///     the node is no member                             it becomes one, and waits no more. If they are min_nodes now, a
///                                                       last call begins: last_call + 1. If max_nodes: complete
///     min_nodes or more are members, and the node has
///       seen this last call for settings.last_call      complete
/// stay   done while the round holds: it is complete, it is view.round, and the node and all its ranks are members still,
///        and nobody waits for whom there is room below max_nodes. If not, new_round.
/// leave  off both lists: done. close: closed for good, and nobody waits: done.
///
/// A round that becomes complete gives ranks, by sorted name, and keeps them. When the last member of a complete round has
/// gone, the next round gathers: it has the next number, and no ranks.
/// The count of a node that becomes a member, or waits, is one more than view has noted for it: no count comes twice.
///
/// state     as in the last look: view = observe(view, state, ...).
/// returns   the state as it is to be, and write if that is another one; else `state`, and what the table says.
Decision decide(const RendezvousState& state, const NodeView& view, Wish wish);

/// A complete round, as one of its nodes is told.
struct RendezvousRound {
    std::int64_t number = 0;         // 1, 2, ...: part of every key and message of this round
    int rank = 0;                    // of this node
    std::vector<std::string> nodes;  // the names of all, by rank

    [[nodiscard]] int size() const { return static_cast<int>(nodes.size()); }
};

/// No more rounds begin. The text names the rendezvous.
class RendezvousClosed : public Error {
  public:
    using Error::Error;
};

/// One node at a rendezvous: the loop that looks at the store, decides, and writes.
///
/// It writes by compare_set, over the very text that it decided by. Where another node was first, its own change is
/// dropped, and it decides anew by what stands there then.
///
/// Cost    of each look one value of the store, as long as there are nodes. It uses one key, and waits by the clock alone,
///         for settings.poll.
/// Errors  those of the store.
/// Source  PyTorch, torch/distributed/elastic/rendezvous/dynamic_rendezvous.py.
class Rendezvous {
  public:
    /// Does not touch the store.
    ///
    /// store  outlives this object, and so does the clock.
    /// key    of the state in the store. It names the rendezvous: another run has another key.
    /// name   of this node, which no other one has or had: its address, its process, and a count.
    ///
    /// Errors  std::invalid_argument unless 1 <= min_nodes <= max_nodes, and 0 < poll <= heartbeat < dead_after.
    Rendezvous(
        Store& store,
        std::string key,
        std::string name,
        const RendezvousSettings& settings,
        Clock& clock
    );

    /// Joins, and waits for a round that is newer than its last one, which it leaves. Its deadline is join_timeout from now.
    ///
    /// Errors  RendezvousClosed; Timeout, which names the rendezvous, and says how many other members were there.
    RendezvousRound next_round();

    /// Tells the others that this node lives, and whether its round still holds. The node calls it once a heartbeat
    /// or more often, from next_round() to next_round(): it waits for nothing.
    bool stay();

    /// Goes, and waits for no round.
    void leave();

    /// Ends the rendezvous for good, for all nodes. Who is in a round may stay in it.
    void close();

  private:
    /// Looks, decides and writes until nothing is left to do but the action that is returned.
    Decision run(Wish wish);

    Store& store_;
    std::string key_;
    Clock& clock_;
    NodeView view_;
};

}  // namespace dist
