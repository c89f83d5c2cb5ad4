#include "tests/harness/words/edges.hpp"

#include "tests/harness/job/runs.hpp"

namespace dist::harness {
namespace {

std::string complaint(const Edges& sent, const EdgeCost& cost, const std::string& where) {
    Traffic traffic;
    traffic.messages_sent = sent.messages;
    traffic.bytes_sent = sent.bytes;
    traffic.sent_to = sent.to;
    const trace::Limits limits =
        current_test().limits;  // of all messages: none are for one kind of edge
    const Comparison spent = within(
        traffic, {.messages_sent = cost.messages, .bytes_sent = cost.bytes, .among = cost.among}
    );
    current_test().limits = limits;
    return spent ? "" : where + " " + spent.text;
}

}  // namespace

SentByNode sent_by_node(const std::vector<MessageRecord>& messages, int rank, int per_node) {
    SentByNode sent;
    for (const MessageRecord& message : messages) {
        if (message.src == rank) {
            const bool stays = message.dst / per_node == rank / per_node;
            Edges& edges = stays ? sent.inside : sent.outside;
            edges.messages += 1;
            edges.bytes += message.bytes;
            edges.to.insert(message.dst);
        }
    }
    return sent;
}

Comparison within(const SentByNode& sent, const EdgeCost& inside, const EdgeCost& outside) {
    const std::string on_node = complaint(sent.inside, inside, "on its node");
    const std::string elsewhere = complaint(sent.outside, outside, "to other nodes");
    const char* const both = on_node.empty() || elsewhere.empty() ? "" : "; ";
    return {on_node.empty() && elsewhere.empty(), elsewhere + both + on_node};
}

}  // namespace dist::harness
