// Messages by edge: how many stay on a node, and how many leave it. Bytes a rank do not show that.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "course/protocol/message_record.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// What one rank sent to some others.
struct Edges {
    long messages = 0;
    long bytes = 0;
    std::set<int> to;
};

/// What one rank sent to ranks of its own node, and to those of others.
struct SentByNode {
    Edges inside;
    Edges outside;
};

/// What `rank` sent of these messages, where rank r is on node r / per_node.
///
/// messages  of recorded_messages().
SentByNode sent_by_node(const std::vector<MessageRecord>& messages, int rank, int per_node);

/// What a rank may send on one kind of edge.
struct EdgeCost {
    Bound messages = {};
    Bound bytes = {};
    std::set<int> among = {};  // all receivers are of these
};

/// Whether both are within their cost; otherwise it says by how much they are not: "to other nodes
/// it sent 64 bytes, where at most 16 are right; ...".
Comparison within(const SentByNode& sent, const EdgeCost& inside, const EdgeCost& outside);

}  // namespace dist::harness
