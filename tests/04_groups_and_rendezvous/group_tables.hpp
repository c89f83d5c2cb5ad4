// Who is to be in a group, and in which order: tables of colors and keys, and what has to come of
// them.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/runtime/seeded.hpp"
#include "exercises/04_groups_and_rendezvous/split.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// What the ranks of one call give, by rank.
struct Given {
    std::string what;
    std::vector<int> colors;
    std::vector<int> keys;
};

/// The same from functions of the rank.
template <class Color, class Key>
Given given(const std::string& what, int p, const Color& color, const Key& key) {
    Given all{what, {}, {}};
    for (int r = 0; r < p; ++r) {
        all.colors.push_back(color(r));
        all.keys.push_back(key(r));
    }
    return all;
}

/// The members of rank r's group, in their order.
inline std::vector<int> members(const Given& given, int r) {
    const auto mine = static_cast<std::size_t>(r);
    std::vector<std::pair<int, int>> all;  // key, rank
    for (std::size_t i = 0; i < given.colors.size(); ++i) {
        if (given.colors[i] == given.colors[mine] && given.colors[i] != MPI_UNDEFINED) {
            all.emplace_back(given.keys[i], static_cast<int>(i));
        }
    }
    std::ranges::sort(all);
    std::vector<int> ranks;
    for (const auto& [key, rank] : all) {
        ranks.push_back(rank);
    }
    return ranks;
}

inline std::string in_order(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    return text.empty() ? "nobody" : text;
}

/// "drawn: color 0 on all ranks; keys 0, 1, 0".
inline std::string text_of(const Given& given) {
    const auto text = [](const std::string& word, const std::vector<int>& numbers) {
        const bool alike =
            std::ranges::count(numbers, numbers.empty() ? 0 : numbers[0]) == std::ssize(numbers);
        return !alike || numbers.empty()
                   ? word + "s " + in_order(numbers)
                   : word + " " + std::to_string(numbers[0]) + " on all ranks";
    };
    return given.what + ": " + text("color", given.colors) + "; " + text("key", given.keys);
}

/// Why the ranks of a group are likely to be these.
inline std::string suspicion(const std::vector<int>& got, const std::vector<int>& expected) {
    std::vector<int> by_rank = expected;
    std::ranges::sort(by_rank);
    if (got == by_rank) {
        return ": that is the order of the communicator, as if all keys were equal";
    }
    if (std::ranges::equal(got, std::vector<int>(expected.rbegin(), expected.rend()))) {
        return ": that is the other way around: the smallest key comes first, and of equal ones "
               "the lower rank";
    }
    std::vector<int> sorted = got;
    std::ranges::sort(sorted);
    if (sorted == by_rank) {
        return ": the right ranks in another order. Keys are any ints, and of equal ones the lower "
               "rank comes first";
    }
    return expected.empty() ? ": who gives MPI_UNDEFINED is in no group, and a color that nobody "
                              "gives has no ranks"
                            : ": a group has the ranks of one color, any int that is not negative";
}

/// "expected ranks 2, 0, got 0, 2: ..."; of many the first.
inline Comparison same_members(const std::vector<int>& got, const std::vector<int>& expected) {
    constexpr std::size_t kTold = 20;
    const auto text = [](const std::vector<int>& ranks) {
        const bool many = ranks.size() > kTold;
        return in_order({ranks.begin(), ranks.begin() + std::ptrdiff_t(many ? kTold : ranks.size())}
               ) +
               (many ? ", ..." : "");
    };
    return {
        got == expected,
        "expected ranks " + text(expected) + "; got " + text(got) + suspicion(got, expected)};
}

/// Is this rank's group as the call must make it?
inline Comparison same_group(const Group& group, const Given& given, int r) {
    const std::vector<int> expected = members(given, r);
    if (group.ranks() != expected) {
        return same_members(group.ranks(), expected);
    }
    const auto place = std::ranges::find(expected, r) - expected.begin();
    const int rank = expected.empty() ? -1 : static_cast<int>(place);
    return {
        group.rank() == rank && group.size() == std::ssize(expected),
        "the ranks are right: " + in_order(expected) + ". Among them rank " + std::to_string(r) +
            " has place " + std::to_string(rank) + " of " + std::to_string(expected.size()) +
            ", and rank() says " + std::to_string(group.rank()) + " of " +
            std::to_string(group.size())};
}

inline constexpr int kLarge = INT_MAX;
inline constexpr int kExact = 1 << 24;  // a float has all whole numbers up to here

inline int zero(int /*r*/) {
    return 0;
}

inline std::vector<Given> usual(int p) {
    return {
        given("all in one group", p, zero, zero),
        given("rotated", p, zero, [p](int r) { return (r + 1) % p; }),
        given("turned around", p, zero, [](int r) { return -r; }),
        given(
            "odd and even", p, [](int r) { return r % 2; }, [](int r) { return 10 - r; }
        ),
        given(
            "each alone", p, [](int r) { return r; }, zero
        ),
        given("the last comes first", p, zero, [p](int r) { return r == p - 1 ? -1 : 0; }),
        given("ties", p, zero, [](int r) { return -(r / 2); })};
}

inline std::vector<Given> extreme(int p) {
    const auto extremes = [](int r) {
        constexpr int kKeys[] = {0, kLarge, INT_MIN, -1, kLarge - 1};
        return kKeys[r % 5];
    };
    return {
        given(
            "the largest colors", p, [](int r) { return kLarge - r; }, zero
        ),
        given(
            "colors and keys beyond 16 bits", p, [](int r) { return (r % 2) << 16; },
            [](int r) { return -r * 65536; }
        ),
        given("the smallest and the largest keys", p, zero, extremes),
        given(
            "keys and colors that no float tells apart", p, [](int r) { return kExact + r / 3; },
            [](int r) { return kExact + 1 - r % 2; }
        ),
        given(
            "a key like MPI_UNDEFINED", p, [](int /*r*/) { return kLarge; },
            [](int r) { return r == 0 ? MPI_UNDEFINED + 1 : MPI_UNDEFINED; }
        )};
}

/// Colors and keys by chance, the same on all ranks.
inline Given drawn(int p, std::uint64_t number) {
    const std::uint64_t stream = seeded_bits(seed(), number);
    const auto draw = [stream](int r, std::uint64_t what) {
        return seeded_bits(stream, 2 * static_cast<std::uint64_t>(r) + what);
    };
    const auto color = [&](int r) {
        constexpr int kColors[] = {0, 1, kLarge, kLarge - 1, MPI_UNDEFINED};
        return kColors[draw(r, 0) % 5];
    };
    const auto key = [&](int r) {
        constexpr int kKeys[] = {INT_MIN, -1, 0, 0, 1, kLarge};
        return kKeys[draw(r, 1) % 6];
    };
    return given("drawn", p, color, key);
}

inline Given without_groups(int p) {
    return given(
        "nobody", p, [](int) { return MPI_UNDEFINED; }, zero
    );
}

/// Every color of a table has the members that it must have, and a color that nobody gives has
/// none.
inline void check_table(const Given& table) {
    INFO((table.colors.size() <= 17 ? text_of(table) : table.what + ", 1000 ranks"));
    for (int r = 0; r < std::min<int>(5, static_cast<int>(table.colors.size())); ++r) {
        const int color = table.colors[static_cast<std::size_t>(r)];
        const Comparison result =
            same_members(ordered_members(color, table.colors, table.keys), members(table, r));
        INFO("color " << color);
        CHECK(result);
    }
    const Comparison nobody = same_members(ordered_members(12345, table.colors, table.keys), {});
    INFO("color 12345, which nobody gives");
    CHECK(nobody);
}

/// Every call makes the groups that it has to, one after the other.
inline void makes_groups(const Communicator& comm, const std::vector<Given>& calls) {
    Groups groups(comm);
    const auto r = static_cast<std::size_t>(comm.rank());
    for (const Given& call : calls) {
        const Group group = groups.split(call.what, call.colors[r], call.keys[r]);
        INFO(text_of(call));
        const Comparison result = same_group(group, call, comm.rank());
        CHECK(result);
    }
}

}  // namespace dist::harness
