// Exercise 04: who is in, and as which rank. Processes that know one store, and not each other,
// become ranks.
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
    Duration join_timeout = std::chrono::seconds(600);  // for a round; max(): for ever
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
/// Its own time goes on as its clock has since the last look, but never back, and by one heartbeat
/// at the most: so a clock that jumps, or a machine that stood still, makes nobody look dead. The
/// first look takes no time. Then each count that is new, or another than the one noted, is noted,
/// with the own time as it is now.
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
/// First, whatever the wish: other nodes, members or waiting, that this one has seen unchanged for
/// dead_after or longer are dead, and go. Its own count, if it is a member or waits, goes up by one
/// when it has seen that unchanged for a heartbeat or longer. Then
///
/// join   the first of these that is true:
///            the rendezvous is closed                  closed
///            the round is complete, newer than
///            view.round, and the node is a member      done
///            its own time has come to the deadline     it goes off both lists; timed_out
///            the round is complete                     it waits, and is no member any more; wait
///            the node is no member                     it becomes one, and waits no more. If that
///                                                      makes min_nodes, a last call begins, and
///                                                      last_call goes up by one. If it makes
///                                                      max_nodes, the round is complete; wait
///            there are min_nodes or more, and it has
///            seen last_call unchanged for a last call  the round is complete; wait
///            else                                      wait
/// stay   done while the round holds: it is view.round, all its ranks are members still, and nobody
///        waits, or there is no room below max_nodes. Else new_round.
/// leave  the node goes off both lists; done.
/// close  the rendezvous is closed for good, and nobody waits any more; done.
///
/// When a round becomes complete, its members get ranks by sorted name, and it keeps these, whoever
/// goes. When the last member of a complete round has gone, the next round gathers nodes: the
/// number is the next one, and there are no ranks. A node that comes to a list has the count that
/// follows the one which view has noted for it: no count comes twice.
///
/// state    the one that `view` has seen last.
/// returns  the state as it is to be, and `write` if it is another one than `state`; if not, the
///          action above. To make one change a write is right as well.
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
/// It changes its one key by compare_set, over the very text that it has decided by. Where another
/// node was first, it drops its own change, and decides anew by what stands there then. Between
/// looks it waits by the clock, for settings.poll. One thread at a time uses it.
///
/// Cost    of a look one value of the store, which is as long as there are nodes.
/// Errors  those of the store.
/// Source  PyTorch, torch/distributed/elastic/rendezvous/dynamic_rendezvous.py.
class Rendezvous {
  public:
    /// Does not touch the store.
    ///
    /// store  outlives this object, and so does the clock.
    /// key    of the state in the store. It names the rendezvous: another run has another key.
    /// name   of this node, which no other one has or had: an address, a process, and a number.
    ///
    /// Errors  std::invalid_argument unless 1 <= min_nodes <= max_nodes, and
    ///         0 < poll <= heartbeat < dead_after.
    Rendezvous(
        Store& store,
        std::string key,
        std::string name,
        const RendezvousSettings& settings,
        Clock& clock
    );

    /// Leaves its round, if it is in one, and waits for a newer one, for join_timeout from now.
    ///
    /// Errors  RendezvousClosed. Timeout, which names the rendezvous, and says how many other
    ///         members there were: then the node is off all lists.
    RendezvousRound next_round();

    /// Tells the others that this node lives, and returns whether its round still holds. It does
    /// not wait. A node in a round calls it once a heartbeat, or more often.
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
