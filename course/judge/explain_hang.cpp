#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "course/judge/explain.hpp"

namespace dist::cli {
namespace {

using harness::CallKind;
using harness::Direction;
using harness::Phase;

bool waits(const RankResult& rank) {
    return rank.phase == Phase::waiting;
}
bool sends(const RankResult& rank) {
    return waits(rank) && rank.direction == Direction::send;
}
bool receives(const RankResult& rank) {
    return waits(rank) && rank.direction == Direction::receive;
}
bool in_collective(const RankResult& rank) {
    return waits(rank) && rank.kind == CallKind::collective;
}

const RankResult* find(const TestResult& test, int rank) {
    const auto is_it = [rank](const RankResult& r) { return r.rank == rank; };
    const auto found = std::find_if(test.per_rank.begin(), test.per_rank.end(), is_it);
    return found == test.per_rank.end() ? nullptr : &*found;
}

/// What the code under test calls the ranks: as the communicator numbers them that its calls were given. Where they were
/// given several, which number a rank differently, ranks have their numbers in the job.
class Names {
  public:
    explicit Names(const TestResult& test) {
        for (const RankResult& rank : test.per_rank) {
            if (waits(rank)) {
                add(rank.rank, rank.rank_in_comm);
                add(rank.peer, rank.peer_in_comm);
            }
        }
    }

    int operator()(const RankResult& rank) const {
        const auto found = names_.find(rank.rank);
        return agree_ && found != names_.end() ? found->second : rank.rank;
    }

    /// For the end of a sentence.
    [[nodiscard]] std::string note() const {
        const bool differ = agree_ && std::ranges::any_of(names_, [](const auto& name) {
                                return name.first != name.second;
                            });
        return differ ? " (as the communicator of these calls numbers the ranks)" : "";
    }

  private:
    void add(int rank, int name) {
        if (rank >= 0 && name >= 0) {
            agree_ = names_.emplace(rank, name).first->second == name && agree_;
        }
    }

    std::map<int, int> names_;
    bool agree_ = true;
};

std::string explain_throw(const TestResult& test) {
    std::vector<int> waiting;
    const RankResult* thrower = nullptr;
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == Phase::threw && thrower == nullptr) {
            thrower = &rank;
        } else if (waits(rank)) {
            waiting.push_back(rank.rank);
        }
    }
    if (thrower == nullptr || waiting.empty()) {
        return "";
    }
    return fmt::format(
        "rank {} left by an exception, and {} {} for it: {}", thrower->rank, ranks_text(waiting),
        waiting.size() == 1 ? "waits" : "wait", thrower->message
    );
}

/// A send and a receive that would meet but for the tag.
std::string explain_tags(const TestResult& test) {
    const Names name(test);
    for (const RankResult& sender : test.per_rank) {
        const RankResult* receiver = sends(sender) ? find(test, sender.peer) : nullptr;
        if (receiver != nullptr && receives(*receiver) && receiver->peer == sender.rank &&
            receiver->tag >= 0 && receiver->tag != sender.tag) {
            return fmt::format(
                "rank {} sends to rank {} with tag {}, and rank {} receives with tag {}: the tags "
                "do not match{}",
                name(sender), name(*receiver), sender.tag, name(*receiver), receiver->tag,
                name.note()
            );
        }
    }
    return "";
}

/// Ranks that stand in other collectives, or with another root, than most.
std::string explain_collectives(const TestResult& test) {
    std::map<std::string, std::vector<int>> by_call;
    for (const RankResult& rank : test.per_rank) {
        if (in_collective(rank)) {
            by_call[rank.call].push_back(rank.rank);
        }
    }
    if (by_call.size() < 2) {
        return "";
    }
    const auto by_count = [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
    };
    const auto odd = std::min_element(by_call.begin(), by_call.end(), by_count);
    const auto most = std::max_element(by_call.begin(), by_call.end(), by_count);
    return fmt::format(
        "{} {} in {}, {} in {}: every rank calls the same collectives in the same order, with the "
        "same root and size",
        ranks_text(odd->second), odd->second.size() == 1 ? "is" : "are", odd->first,
        by_call.size() == 2 ? "the others" : ranks_text(most->second),
        most == odd ? std::next(odd)->first : most->first
    );
}

std::string explain_returned(const TestResult& test) {
    const Names name(test);
    for (const RankResult& rank : test.per_rank) {
        const RankResult* partner = waits(rank) ? find(test, rank.peer) : nullptr;
        if (partner == nullptr || partner->phase != Phase::returned) {
            continue;
        }
        // which of the two is wrong cannot be seen from here
        return fmt::format(
            "rank {0} waits for rank {1}, which has returned already without {2} it: as if rank "
            "{0} {3} one message too many, or rank {1} {4} one too few{5}",
            name(rank), name(*partner), sends(rank) ? "receiving from" : "sending to",
            sends(rank) ? "sent" : "expected", sends(rank) ? "received" : "sent", name.note()
        );
    }
    return "";
}

/// The ranks of a circle in which each waits for the next; empty when there is none.
std::vector<const RankResult*> circle(const TestResult& test) {
    for (const RankResult& start : test.per_rank) {
        std::vector<const RankResult*> path;
        const RankResult* at = &start;
        while (at != nullptr && waits(*at) && std::find(path.begin(), path.end(), at) == path.end()
        ) {
            path.push_back(at);
            at = find(test, at->peer);
        }
        const auto first = std::find(path.begin(), path.end(), at);
        if (at != nullptr && first != path.end()) {
            return {first, path.end()};
        }
    }
    return {};
}

std::string explain_circle(const TestResult& test) {
    const std::vector<const RankResult*> ranks = circle(test);
    if (ranks.empty()) {
        return "";
    }
    const Names name(test);
    if (ranks.size() == 1 && receives(*ranks[0])) {
        return fmt::format(
            "rank {0} waits for itself: it receives from rank {0}, to which nobody has sent. Which "
            "rank did you mean?{1}",
            name(*ranks[0]), name.note()
        );
    }
    if (ranks.size() == 1) {
        return fmt::format(
            "rank {0} waits for itself: it sends to rank {0}, which cannot receive while it waits. "
            "Which rank did you mean?{1}",
            name(*ranks[0]), name.note()
        );
    }
    std::string text;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const int next = name(*ranks[(i + 1) % ranks.size()]);
        text += fmt::format("{}{} waits for {}", i == 0 ? "" : ", ", name(*ranks[i]), next);
    }
    text += name.note();
    const auto all = [&](auto condition) {
        return std::all_of(ranks.begin(), ranks.end(), [&](const RankResult* r) {
            return condition(*r);
        });
    };
    if (all([](const RankResult& r) { return sends(r) && r.kind == CallKind::exchange; })) {
        return text +
               ": no rank receives from the rank that sends to it (as a source, -1 means any rank, "
               "and -2 none)";
    }
    // others may wait for one of these, or in a circle of their own
    const bool everybody = ranks.size() == test.per_rank.size();
    if (all(sends)) {
        return text + fmt::format(
                          ": {} sends first, and no send returns before somebody receives",
                          everybody ? "every rank" : "each of these ranks"
                      );
    }
    if (all(receives)) {
        return text + (everybody ? ": every rank receives first, and nobody has sent"
                                 : ": each of these ranks receives first, and none has sent to the "
                                   "one that waits for it");
    }
    return text + ": a circle, in which nobody can go on";
}

std::string explain_left_out(const TestResult& test) {
    std::vector<int> returned;
    std::vector<int> inside;
    for (const RankResult& rank : test.per_rank) {
        (in_collective(rank) ? inside : returned).push_back(rank.rank);
    }
    if (inside.empty() || returned.empty()) {
        return "";
    }
    const RankResult& first = *find(test, inside.front());
    const RankResult& missing = *find(test, returned.front());
    const std::string are = inside.size() == 1 ? "is" : "are";
    const std::string do_not = returned.size() == 1 ? "does not" : "do not";
    if (missing.collectives > 0 && missing.collectives < first.collectives) {
        return fmt::format(
            "{} {} in {}, collective number {} of this call, and {} {} come after number {}: one "
            "of "
            "the collectives was left out there, as if by an if, and not necessarily the last",
            ranks_text(inside), are, first.call, first.collectives, ranks_text(returned), do_not,
            missing.collectives
        );
    }
    return fmt::format(
        "{} {} in {}, and {} {} come: every rank of the communicator makes this call",
        ranks_text(inside), are, first.call, ranks_text(returned), do_not
    );
}

}  // namespace

std::string explain_hang(const TestResult& test) {
    for (const auto explain :
         {explain_throw, explain_tags, explain_collectives, explain_returned, explain_circle,
          explain_left_out}) {
        if (std::string text = explain(test); !text.empty()) {
            return text;
        }
    }
    return "";
}

std::string explain_waiting(const TestResult& test) {
    std::vector<int> waiting;
    std::vector<int> returned;
    for (const RankResult& rank : test.per_rank) {
        if (receives(rank) && rank.peer < 0) {
            return fmt::format(
                "rank {} receives from any rank (as a source, -1 means that), and no rank sends to "
                "it",
                rank.rank
            );
        }
        (waits(rank) ? waiting : returned).push_back(rank.rank);
    }
    if (returned.empty() || waiting.empty()) {
        return "all ranks wait, and nothing moves";
    }
    return fmt::format(
        "{} {} in vain: {} {} returned already", ranks_text(waiting),
        waiting.size() == 1 ? "waits" : "wait", ranks_text(returned),
        returned.size() == 1 ? "has" : "have"
    );
}

}  // namespace dist::cli
