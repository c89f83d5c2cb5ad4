#include "tests/harness/words/cost.hpp"

#include <algorithm>

#include "course/protocol/counted.hpp"
#include "tests/harness/job/runs.hpp"

namespace dist::harness {
namespace {

/// Collects what is not as it has to be, a clause each.
struct Complaints {
    std::string text = {};

    void add(const std::string& clause) { text += (text.empty() ? "it " : "; it ") + clause; }
    void check(const std::string& verb, long got, const std::string& word, const Bound& bound) {
        if (got < bound.least || got > bound.most) {
            const long limit = got < bound.least ? bound.least : bound.most;
            const std::string kind = bound.least == bound.most ? "exactly"
                                     : got < bound.least       ? "at least"
                                                               : "at most";
            add(verb + " " + counted(got, word) + ", where " + kind + " " + std::to_string(limit) +
                (limit == 1 ? " is right" : " are right"));
        }
    }
    /// Returns whether it is as it has to be, or nothing is asked.
    bool check(
        const std::string& verb, const std::set<int>& got, const std::optional<std::set<int>>& right
    ) {
        const bool wrong = right && got != *right;
        if (wrong) {
            add(verb + " " + list(got) + ", where " + list(*right) + " is right");
        }
        return !wrong;
    }
};

long exceeded(long got, const Bound& bound) {
    return got > bound.most ? bound.most : trace::Limits::kAny;
}

/// For the picture of what this rank did.
trace::Limits exceeded(const Traffic& traffic, const Cost& cost) {
    trace::Limits limits;
    limits.messages = exceeded(traffic.messages_sent, cost.messages_sent);
    limits.bytes = exceeded(traffic.bytes_sent, cost.bytes_sent);
    limits.rounds = exceeded(traffic.rounds, cost.rounds);
    for (const auto& right : {cost.among, cost.partners}) {
        limits.partners = right ? right : limits.partners;
    }
    return limits;
}

}  // namespace

std::string list(const std::set<int>& ranks) {
    std::string text;
    for (const int rank : ranks) {
        text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return text.empty() ? "nobody" : text;
}

Comparison within(const Traffic& traffic, const Cost& cost) {
    if (!traffic.counted) {
        return {};
    }
    Complaints found;
    found.check("sent", traffic.messages_sent, "message", cost.messages_sent);
    found.check("sent", traffic.bytes_sent, "byte", cost.bytes_sent);
    found.check("received", traffic.messages_received, "message", cost.messages_received);
    found.check("received", traffic.bytes_received, "byte", cost.bytes_received);
    found.check("sent to", traffic.sent_to, cost.sent_to);
    found.check("received from", traffic.received_from, cost.received_from);
    const bool right = found.check("exchanged messages with", traffic.partners(), cost.partners);
    if (right && cost.among && !std::ranges::includes(*cost.among, traffic.partners())) {
        found.add(
            "exchanged messages with " + list(traffic.partners()) + ", where only " +
            list(*cost.among) + " can be right"
        );
    }
    if (traffic.listened_to_anyone && (cost.partners || cost.among)) {
        found.add(
            "received from any rank, where its partners are known: MPI_ANY_SOURCE is -1 in Open "
            "MPI, as (r - "
            "1) % p is on rank 0; (r - 1 + p) % p is its neighbour"
        );
    }
    if (traffic.rounds < cost.rounds.least || traffic.rounds > cost.rounds.most) {
        found.add(
            "took part in a chain of " + counted(traffic.rounds, "message") +
            " that wait for each other, where at most " + std::to_string(cost.rounds.most) +
            " are right"
        );
    }
    if (!found.text.empty()) {
        current_test().limits = exceeded(traffic, cost);
    }
    return {found.text.empty(), found.text};
}

}  // namespace dist::harness
