// What the nodes of a rendezvous agree on: one value of a store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dist {

/// Who is in, and who waits. It holds no time: clocks of two machines have nothing to do with each
/// other.
struct RendezvousState {
    /// Nodes by name, each with a count that goes up while the node lives: its heartbeats.
    using Nodes = std::map<std::string, std::int64_t>;

    std::int64_t round = 1;  // the round that gathers nodes, or that is complete
    std::vector<std::string>
        ranks;      // of a complete round: its nodes by rank, also those that died since
    Nodes members;  // the nodes that are in the round, and live
    Nodes waiting;  // those that live and wait for the next round
    std::int64_t last_call = 0;  // how many last calls have begun
    bool closed = false;         // for good

    [[nodiscard]] bool complete() const { return !ranks.empty(); }

    /// The state as text, from which from() makes it again. Equal states have equal texts.
    [[nodiscard]] std::string text() const;

    /// The state that has this text; a new one for the empty text.
    ///
    /// Errors  Error if it is no such text.
    static RendezvousState from(const std::string& text);

    bool operator==(const RendezvousState&) const = default;
};

}  // namespace dist
