#include "tests/harness/words/contributions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/harness/job/runs.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/reductions.hpp"

namespace dist::harness {
namespace {

/// Of a digit among p: 3 up to 8 ranks, fewer on more, so that the sum of all is exact in float.
int bits(int p) {
    return std::min(3, std::numeric_limits<float>::digits / p);
}

/// Rank r's contribution: a digit of its own, in base 8 up to 8 ranks.
float digit(int rank, int p) {
    return std::ldexp(1.0F, bits(p) * rank);
}

/// "the sum of ranks 0, 1, 3 (4 times)".
std::string whose(float sum, int p) {
    if (std::isnan(sum) || sum != std::floor(sum) || sum < 1 || sum >= digit(p, p)) {
        return std::to_string(sum) + ", which is no sum of contributions";
    }
    std::string text;
    for (int rank = 0; rank < p; ++rank) {
        const int times = (static_cast<int>(sum) >> (bits(p) * rank)) % (1 << bits(p));
        if (times > 0) {
            text += (text.empty() ? "the sum of ranks " : ", ") + std::to_string(rank);
        }
        if (times > 1) {
            text += " (" + std::to_string(times) + " times)";
        }
    }
    return text;
}

/// Whether every element is the sum of the digits of `ranks`.
Comparison sum_of(const std::set<int>& ranks, const std::vector<float>& data, int p) {
    float expected = 0;
    for (const int rank : ranks) {
        expected += digit(rank, p);
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] != expected) {
            return {
                false, "index " + std::to_string(i) + ": got " + whose(data[i], p) +
                           "; expected the sum of ranks " + list(ranks)};
        }
    }
    return {};
}

}  // namespace

void every_rank_once(
    const Attempt& attempt, const std::vector<int>& worlds, const std::string& why
) {
    // a body for each length and root
    const auto roots_on = [&](int p) { return attempt.takes.root ? p : 1; };
    on_ranks_each(
        worlds, [&](int p) { return static_cast<std::size_t>(2 * roots_on(p)); },
        [&](const Communicator& comm, std::size_t number) {
            const int p = comm.size();
            const int r = comm.rank();
            const int root = static_cast<int>(number) % roots_on(p);
            const std::size_t n = static_cast<int>(number) < roots_on(p) ? 16 : 7;
            const Call call{.n = n, .root = root};
            Buffers buffers{std::vector<float>(n, digit(r, p))};
            record(attempt, buffers, call, comm);
            const bool has_the_sum = !attempt.takes.root || r == root;
            const Comparison contributions =
                sum_of(has_the_sum ? arc(p, 0, p) : std::set{r}, buffers.data, p);
            INFO(text_of(attempt, call, comm));
            INFO(
                (has_the_sum ? why
                             : "rank " + std::to_string(r) +
                                   " is not the root: its data is to be left as it was. A "
                                   "partial result needs memory of its own.")
            );
            CHECK(contributions);
        }
    );
}

}  // namespace dist::harness
