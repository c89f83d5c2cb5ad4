// Exercise 10: the nodes of an elastic job. Those that are there are a round, and their workers
// have ranks in it, until a node comes or goes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "course/runtime/clock.hpp"
#include "course/runtime/rounds.hpp"
#include "course/runtime/store.hpp"
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

namespace dist {

/// Where the workers of a round meet: in PrefixStore(round_prefix(run, number), store). Another
/// round of the run, or another run, has another prefix, and no key of one is a key of the other.
/// So workers of an older round find nobody there. What they set there they erase.
///
/// run  a name without "/".
std::string round_prefix(const std::string& run, std::int64_t number);

/// A node of a job: the rounds of a Rendezvous, with ranks for the workers of all its nodes.
///
/// In each round every node tells the others how many workers it has: not all have the same number.
/// The workers of node 0 have the first ranks, then come those of node 1, and so on. Nodes have the
/// ranks of the rendezvous.
///
/// A node that stood still or was cut off from the store may be a round behind when it goes on.
/// What it still does in its old round changes nothing in the new one. holds() is false, and next()
/// takes it into a newer round, as one that comes late.
///
/// It waits in next() only, and there by the clock, for settings.poll. It waits in no call of the
/// store.
///
/// Cost    of holds() one value of the store, of finish() two. A write, and with it a few values
///         more, once a heartbeat, and when the node says something new. In the store at most 4
///         max_nodes + 2 keys, however many rounds there were.
/// Errors  those of the store. The same call may be made again, and does what the first one was to
///         do.
/// Source  PyTorch, torch/distributed/elastic/agent/server/api.py, _assign_worker_ranks and
///         _exit_barrier.
class Membership : public Rounds {
  public:
    /// Does not touch the store.
    ///
    /// store    outlives this object, and so does the clock.
    /// run      names the job, without "/". All its keys begin with that name and a "/"; none with
    ///          a round_prefix and a "/".
    /// node     names this node, as in Rendezvous.
    /// workers  on this node.
    ///
    /// Errors  std::invalid_argument if there is no worker, or for settings that Rendezvous
    ///         refuses.
    Membership(
        Store& store,
        const std::string& run,
        const std::string& node,
        int workers,
        const RendezvousSettings& settings,
        Clock& clock
    );
    ~Membership() override;
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    /// Leaves its round, if it is in one, and waits for a newer one: until it is complete, and all
    /// its nodes have said how many workers they have. Where one of them dies or goes before that,
    /// waits for another round instead, for join_timeout from then on.
    ///
    /// Returns  none, and the node is in no round, when the job is closed or finished.
    /// Errors   Timeout, that of Rendezvous.
    std::optional<WorkerRound> next() override;

    /// As Rendezvous::stay().
    bool holds() override;

    /// Does what holds() does as well, so that the others see that this node lives. False if it is
    /// in no round.
    ///
    /// The job is finished when all nodes of a round have said so in that round, while no newer one
    /// had begun; some may have gone since they said it. Then finish() is true for all nodes that
    /// are still in it, also if the others have gone, and no more rounds begin: next() returns none
    /// on every node.
    bool finish() override;

    void leave() override;
    void close() override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
