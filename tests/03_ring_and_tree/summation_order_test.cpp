// ordered_sum: the bits of one loop over all numbers, whoever holds them. order_matters: why.
#include "exercises/03_ring_and_tree/summation_order.hpp"

#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <string>

#include "course/runtime/seeded.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "A library's reduction adds in an order of its own: send the sum so far."
);

using Parts = std::vector<std::vector<float>>;

/// Numbers of very different size, the same in every run: nearly every addition rounds.
std::vector<float> numbers(std::size_t n, std::uint64_t salt = 0) {
    std::vector<float> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = seeded_bits(2 + salt, i);
        const auto digits = static_cast<float>(1 + bits % 4096);
        all[i] = std::ldexp(digits, -static_cast<int>(bits / 4096 % 24));
    }
    return all;
}

const char* const kWays[] = {
    "cut by chunk_bounds", "later ranks hold more", "rank 0 holds all", "the last rank holds all"};

/// `all` in p consecutive parts, by one of kWays.
Parts cut(const std::vector<float>& all, int p, int way) {
    const auto n = static_cast<double>(all.size());
    Parts parts;
    auto begin = all.begin();
    for (int i = 0; i < p; ++i) {
        const double share = static_cast<double>(i + 1) / p;
        auto end = all.begin() + static_cast<long>(chunk_bounds(all.size(), p, i).end);
        if (way == 1) {  // later ranks hold more
            end = all.begin() + static_cast<long>(n * share * share);
        } else if (way == 2) {  // rank 0 holds all
            end = all.end();
        } else if (way == 3) {  // the last rank holds all
            end = i == p - 1 ? all.end() : all.begin();
        }
        parts.emplace_back(begin, end);
        begin = end;
    }
    return parts;
}

float one_loop(std::span<const float> all, float sum = 0.0F) {
    for (const float x : all) {
        sum += x;
    }
    return sum;
}

/// Neighbours add what they have, in pairs, until one sum is left.
float in_pairs(std::vector<float> sums) {
    while (sums.size() > 1) {
        std::vector<float> next;
        for (std::size_t i = 0; i < sums.size(); i += 2) {
            next.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
        }
        sums = next;
    }
    return sums[0];
}

/// Each rank adds what an addition rounded away to its next element (Kahan).
float errors_made_good(const Parts& parts) {
    float sum = 0.0F;
    for (const auto& part : parts) {
        float lost = 0.0F;
        for (const float x : part) {
            const float before = sum;
            sum += x - lost;
            lost = (sum - before) - (x - lost);
        }
    }
    return sum;
}

/// What likely mistakes return on rank r, and the sentence for each.
std::vector<Suspicion> suspicions(const Parts& parts, int r) {
    std::vector<float> all;
    std::vector<float> sums;
    std::vector<Suspicion> known;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        all.insert(all.end(), parts[i].begin(), parts[i].end());
        sums.push_back(one_loop(parts[i]));
        const bool before_me = static_cast<int>(i) <= r;
        if (before_me && i + 1 < parts.size()) {
            known.push_back(
                {{one_loop(all)},
                 std::string("that is the sum of ") + (i == 0 ? "rank " : "ranks 0 to ") +
                     std::to_string(i) +
                     ": the sum so far, not the result, which only the last rank knows: as if this "
                     "rank had returned before it came"}
            );
        }
    }
    known.push_back(
        {{static_cast<float>(std::accumulate(all.begin(), all.end(), 0.0))},
         "that is as if it were added in double precision, or with its errors made good: a loop in "
         "float rounds after each addition"}
    );
    known.push_back(
        {{errors_made_good(parts)},
         "that is as if each rank added with its errors made good: a loop in float rounds after "
         "each addition"}
    );
    const char* const own_sums =
        "that is as if each rank's own sum came first, then the sum of these sums: one loop adds "
        "every element to the sum of all elements before it";
    known.push_back({{one_loop(sums)}, own_sums});
    known.push_back({{in_pairs(sums)}, std::string(own_sums) + " (these were added in pairs)"});
    known.push_back({{one_loop(std::vector(sums.rbegin(), sums.rend()))}, own_sums});
    known.push_back({{sums[static_cast<std::size_t>(r)]}, "that is this rank's own sum alone"});
    known.push_back(
        {{one_loop(std::vector(all.rbegin(), all.rend()))}, "that is the sum from back to front"}
    );
    Parts turned(parts.rbegin(), parts.rend());
    float last_first = 0.0F;
    for (const auto& part : turned) {
        last_first = one_loop(part, last_first);
    }
    known.push_back({{last_first}, "that is the last rank's elements first, rank 0's last"});
    return known;
}

/// Compares this rank's sum with the loop over the parts of all.
Comparison is_one_loop(float sum, const Parts& parts, const Communicator& comm) {
    std::vector<float> all;
    for (const auto& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return same(std::vector{sum}, std::vector{one_loop(all)}, 0.0, suspicions(parts, comm.rank()));
}

Attempt cut_by(int way) {
    const auto parts = [way](const Call& call, const Communicator& comm) {
        return cut(numbers(call.n, call.salt), comm.size(), way);
    };
    return {
        .name = "ordered_sum",
        .before = [=](const Call& call, const Communicator& comm
                  ) { return Buffers{parts(call, comm)[static_cast<std::size_t>(comm.rank())]}; },
        .call = [](Buffers& b, const Call&,
                   const Communicator& comm) { b.out = {ordered_sum(b.data, comm)}; },
        .outcome = [=](const Buffers& b, const Call& call, const Communicator& comm
                   ) { return is_one_loop(b.out.at(0), parts(call, comm), comm); }};
}
const Attempt kAttempt = cut_by(0);

Cost one_float_each_way(const Call& /*call*/, const Communicator& comm) {
    const int r = comm.rank();
    const long needed = (r > 0 ? 1 : 0) + (r < comm.size() - 1 ? 1 : 0);
    return {.messages_received = at_most(needed), .bytes_received = at_most(4 * needed)};
}

std::string text(std::span<const float> values) {
    std::string line;
    for (const float x : values) {
        std::ostringstream number;
        number << std::setprecision(9) << x;
        line += (line.empty() ? "" : ", ") + number.str();
    }
    return line;
}

}  // namespace

TEST_CASE("ordered_sum adds every element to the sum of all before it") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        Parts parts(static_cast<std::size_t>(comm.size()), {1.0F, 1.0F});
        parts[0] = {0x1p24F};
        INFO("rank 0 holds 16777216, which is 2^24; each other rank holds 1, 1");
        INFO(
            "One loop loses each 1: 2^24 + 1 rounds to 2^24 again. It is in the sum where the 1s "
            "were "
            "added to each other first, or in more than float."
        );
        const float sum = ordered_sum(parts[static_cast<std::size_t>(comm.rank())], comm);
        CHECK(same(std::vector{sum}, std::vector{0x1p24F}));
    });
}

TEST_CASE("ordered_sum gives the bits of one loop, for any number of ranks and any cut") {
    const int way = GENERATE(0, 1, 2, 3);
    INFO(kWays[way]);
    every_call(cut_by(way), {{.n = 1000}});
}

TEST_CASE("ordered_sum works for every length, also where ranks hold nothing") {
    every_length(kAttempt);
}

TEST_CASE("ordered_sum sends sums, not elements: one float to each rank but the first, and back") {
    costs(
        kAttempt, one_float_each_way,
        "A rank needs the sum so far (all but rank 0), and the result (all but the last rank)."
    );
}

TEST_CASE("ordered_sum can be called twice in a row") {
    two_in_a_row(kAttempt, "nothing may be left of the first call in the second");
}

TEST_CASE("ordered_sum stays inside the communicator it is given, in its order") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ordered_sum throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ordered_sum is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}

TEST_CASE("order_matters returns numbers whose sum depends on the order") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector<float> values = order_matters();
        const float forwards = one_loop(values);
        const float backwards = one_loop(std::vector(values.rbegin(), values.rend()));
        INFO("order_matters() returned {" << text(values) << "}");
        INFO(
            "from front to back " << text({&forwards, 1}) << ", from back to front "
                                  << text({&backwards, 1})
        );
        INFO((
            values.size() < 3
                ? "Two numbers do not suffice: a + b is b + a. It takes three, of different size."
                : "Both orders round alike here: a small number must be lost beside a large one in "
                  "one order, and find a sum of its own size in the other."
        ));
        CHECK(values.size() <= 10);
        CHECK(std::isfinite(forwards));
        CHECK(std::isfinite(backwards));
        CHECK(forwards != backwards);
    });
}
