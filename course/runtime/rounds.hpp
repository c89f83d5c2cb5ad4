// The rounds of an elastic job, as the agent of one node sees them.
#pragma once

#include <cstdint>
#include <optional>

namespace dist {

/// What one node's workers are in a round: its local rank w has rank first_rank + w of world_size.
struct WorkerRound {
    std::int64_t number = 0;  // 1, 2, ...: part of every key and message of this round
    int node = 0;             // rank of this node among all nodes
    int nodes = 1;
    int first_rank = 0;
    int workers = 1;     // on this node
    int world_size = 1;  // on all nodes

    bool operator==(const WorkerRound&) const = default;
};

/// Brings the nodes of a job together, again and again. One thread uses it.
///
/// Errors  of all calls: those of the store below, where there is one.
class Rounds {
  public:
    Rounds() = default;
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    virtual ~Rounds() = default;

    /// Leaves the round that this node is in, if there is one, and waits for a newer one. None where no more rounds begin.
    ///
    /// Errors  Timeout if there is no round in time.
    virtual std::optional<WorkerRound> next() = 0;

    /// Tells the others that this node lives, and returns whether its round still holds: all its nodes are there, and nobody
    /// waits to come in for whom there is room. Does not wait. Called once an interval, or more often.
    virtual bool holds() = 0;

    /// Says that this node's workers have all ended well in this round, and, as holds() does, that this node lives. Returns
    /// whether those of all nodes of the round have. Does not wait; may be called again and again.
    virtual bool finish() = 0;

    /// Goes, and waits for no round.
    virtual void leave() = 0;

    /// No more rounds begin, on any node.
    virtual void close() = 0;
};

}  // namespace dist
