#include "course/cli/judge/explain.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace dist::cli {
namespace {

bool sends(const RankResult& rank) {
    return rank.call.find("to rank") != std::string::npos;
}
bool receives(const RankResult& rank) {
    return rank.call.find("from ") != std::string::npos;
}
bool waits(const RankResult& rank) {
    return rank.phase == "waiting";
}

/// Calls without a partner are collectives: "MPI_Barrier", "MPI_Bcast(root 0, 4 bytes)".
bool in_collective(const RankResult& rank) {
    return waits(rank) && !sends(rank) && !receives(rank) && !rank.call.empty() &&
           rank.call.find("Wait") == std::string::npos &&
           rank.call.find("Test") == std::string::npos;
}

const RankResult* find(const TestResult& test, int rank) {
    const auto is_it = [rank](const RankResult& r) { return r.rank == rank; };
    const auto found = std::find_if(test.per_rank.begin(), test.per_rank.end(), is_it);
    return found == test.per_rank.end() ? nullptr : &*found;
}

std::string explain_throw(const TestResult& test) {
    std::vector<int> waiting;
    const RankResult* thrower = nullptr;
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == "threw" && thrower == nullptr) {
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
    for (const RankResult& sender : test.per_rank) {
        const RankResult* receiver = sends(sender) ? find(test, sender.peer) : nullptr;
        if (receiver != nullptr && waits(*receiver) && receives(*receiver) && !sends(*receiver) &&
            receiver->peer == sender.rank && receiver->tag >= 0 && receiver->tag != sender.tag) {
            return fmt::format(
                "rank {} sends to rank {} with tag {}, and rank {} receives with tag {}: the tags "
                "do "
                "not match",
                sender.rank, receiver->rank, sender.tag, receiver->rank, receiver->tag
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
        "same "
        "root and size",
        ranks_text(odd->second), odd->second.size() == 1 ? "is" : "are", odd->first,
        by_call.size() == 2 ? "the others" : ranks_text(most->second),
        most == odd ? std::next(odd)->first : most->first
    );
}

std::string explain_returned(const TestResult& test) {
    for (const RankResult& rank : test.per_rank) {
        const RankResult* partner = waits(rank) ? find(test, rank.peer) : nullptr;
        if (partner == nullptr || partner->phase != "returned") {
            continue;
        }
        return fmt::format(
            "rank {0} waits for rank {1}, which has returned already without {2}: look at what "
            "rank {1} "
            "does",
            rank.rank, partner->rank,
            sends(rank) && receives(rank) ? "taking part"
            : sends(rank)                 ? "receiving from it"
                                          : "sending to it"
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
    if (ranks.size() == 1 && receives(*ranks[0])) {
        return fmt::format(
            "rank {0} waits for itself: it receives from rank {0}, to which nobody has sent. Which "
            "rank did you mean?",
            ranks[0]->rank
        );
    }
    if (ranks.size() == 1) {
        return fmt::format(
            "rank {} waits for itself, and so cannot do its other half", ranks[0]->rank
        );
    }
    std::string text;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const int next = ranks[(i + 1) % ranks.size()]->rank;
        text += fmt::format("{}{} waits for {}", i == 0 ? "" : ", ", ranks[i]->rank, next);
    }
    const auto all = [&](auto condition) {
        return std::all_of(ranks.begin(), ranks.end(), [&](const RankResult* r) {
            return condition(*r);
        });
    };
    if (all([](const RankResult& r) { return r.call.starts_with("MPI_Sendrecv(to"); })) {
        return text +
               ": every rank receives from another one than it is sent to by (a source of -1 is "
               "anyone, -2 nobody)";
    }
    if (all([](const RankResult& r) { return sends(r) && !receives(r); })) {
        return text + ": every rank sends first, and no send returns before somebody receives";
    }
    if (all([](const RankResult& r) { return receives(r) && !sends(r); })) {
        return text + ": every rank receives first, and nobody has sent";
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
    const RankResult* first = find(test, inside.front());
    return fmt::format(
        "{} {} in {}, and {} {} not come: every rank of the communicator makes this call",
        ranks_text(inside), inside.size() == 1 ? "is" : "are", first->call, ranks_text(returned),
        returned.size() == 1 ? "does" : "do"
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

std::string explain_signal(int rank, int signal, std::uint64_t address, const std::string& output) {
    const std::string name = fmt::format("SIG{}", sigabbrev_np(signal));
    // what a sanitizer or the allocator said before it ended the program explains more than the
    // signal
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        for (const char* words : {"ERROR: AddressSanitizer: ", "runtime error: "}) {
            const std::size_t at = line.find(words);
            if (at != std::string::npos) {
                return fmt::format("rank {} died: {}", rank, line.substr(at));
            }
        }
        if (signal == SIGABRT &&
            (line.find("free") != std::string::npos || line.find("malloc") != std::string::npos ||
             line.find("stack smashing") != std::string::npos)) {
            return fmt::format(
                "rank {} died of {}: {}; memory was freed twice, or written outside of a buffer: "
                "./shardlings --preset debug run shows where",
                rank, name, line
            );
        }
    }
    if (signal == SIGSEGV && address < 4096) {
        return fmt::format("rank {} died of {}: it used a null pointer", rank, name);
    }
    if (signal == SIGSEGV || signal == SIGBUS) {
        return fmt::format("rank {} died of {}: address {:#x} is not its own", rank, name, address);
    }
    return fmt::format("rank {} died of {} ({})", rank, name, strsignal(signal));
}

std::string ranks_text(const std::vector<int>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

std::string rank_line(const RankResult& rank) {
    std::string text = fmt::format("rank {}  ", rank.rank);
    if (rank.phase == "waiting") {
        text += rank.call.empty() ? "waits" : "waits in " + rank.call;
    } else if (rank.phase == "returned") {
        text += "has returned";
    } else if (rank.phase == "threw") {
        text += "left by an exception";
    } else if (rank.phase == "died") {
        text += "died";
    } else if (rank.phase == "asleep") {
        text += "sleeps";
    } else {
        text += "computes";
    }
    return rank.where.empty() ? text : text + "   " + rank.where;
}

}  // namespace dist::cli
