// Ranks in words.

#include <fmt/format.h>

#include "course/judge/explain.hpp"

namespace dist::cli {
namespace {

std::string doing(const RankResult& rank) {
    switch (rank.phase) {
        case harness::Phase::waiting:
            return rank.call.empty() ? "waits" : "waits in " + rank.call;
        case harness::Phase::returned:
            return "has returned";
        case harness::Phase::threw:
            return "left by an exception";
        case harness::Phase::died:
            return "died";
        case harness::Phase::asleep:
            return "sleeps";
        case harness::Phase::absent:
        case harness::Phase::computing:
        case harness::Phase::stopped:
            break;
    }
    return "computes";
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

std::string rank_line(const RankResult& rank) {
    const bool other_name = rank.phase == harness::Phase::waiting && rank.rank_in_comm >= 0 &&
                            rank.rank_in_comm != rank.rank;
    std::string text = fmt::format(
        "rank {}{}  {}", rank.rank,
        other_name ? fmt::format(", rank {} of its communicator,", rank.rank_in_comm) : "",
        doing(rank)
    );
    text += rank.where.empty() ? "" : "   " + rank.where;
    return text + (rank.reference.empty() ? "" : ", in the reference " + rank.reference);
}

}  // namespace dist::cli
