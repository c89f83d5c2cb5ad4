#include "course/diagrams/waits.hpp"

#include <algorithm>

namespace dist::diagrams {
namespace {

using harness::MessageRecord;

/// Rounds in which a rank sends or receives, by rank.
std::vector<std::set<int>> busy_rounds(int ranks, const std::vector<MessageRecord>& messages) {
    std::vector<std::set<int>> busy(static_cast<std::size_t>(ranks));
    for (const MessageRecord& message : messages) {
        busy[static_cast<std::size_t>(message.src)].insert(message.begin);
        if (!message.is_lost) {
            busy[static_cast<std::size_t>(message.dst)].insert(message.end - 1);
        }
    }
    return busy;
}

}  // namespace

std::vector<Wait> waits_of(
    const Diagram& diagram, const std::vector<MessageRecord>& messages, int rounds
) {
    std::vector<Wait> waits;
    if (!diagram.shows_waits) {
        return waits;
    }
    const auto busy = busy_rounds(diagram.ranks, messages);
    for (int rank = 0; rank < diagram.ranks; ++rank) {
        int since = 0;
        for (const int round : busy[static_cast<std::size_t>(rank)]) {
            if (since < round) {
                waits.push_back({rank, since, round});
            }
            since = round + 1;
        }
        if (diagram.stuck.contains(rank)) {
            waits.push_back({rank, std::min(since, rounds - 1), rounds, true});
        }
    }
    return waits;
}

}  // namespace dist::diagrams
