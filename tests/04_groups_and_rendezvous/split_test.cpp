// split: who is in a group, and in which order; messages that never meet; ranks that make another
// call.
#include "exercises/04_groups_and_rendezvous/split.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/protocol/counted.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/quick.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

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
std::vector<int> members(const Given& given, int r) {
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

/// "drawn: color 0 on all ranks; keys 0, 1, 0".
std::string text_of(const Given& given) {
    const auto told = [](const std::string& word, const std::vector<int>& numbers) {
        const bool alike =
            !numbers.empty() && std::ranges::count(numbers, numbers[0]) == std::ssize(numbers);
        return alike ? text(word, " ", numbers[0], " on all ranks") : text(word, "s ", numbers);
    };
    return text(given.what, ": ", told("color", given.colors), "; ", told("key", given.keys));
}

/// Why the ranks of a group are likely to be these.
std::string suspicion(const std::vector<int>& got, const std::vector<int>& expected) {
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
    return expected.empty() ? ": who gives MPI_UNDEFINED is in no group, and a color that no rank "
                              "gives has no ranks"
                            : ": a group has the ranks of one color, any int that is not negative";
}

/// "expected ranks 2, 0, got 0, 2: ..."; of many the first.
Comparison same_members(const std::vector<int>& got, const std::vector<int>& expected) {
    const auto told = [](const std::vector<int>& ranks) {
        constexpr std::size_t kTold = 20;
        return text(ranks | std::views::take(kTold), ranks.size() > kTold ? ", ..." : "");
    };
    return {
        got == expected,
        text("expected ranks ", told(expected), "; got ", told(got), suspicion(got, expected))};
}

/// Is this rank's group as the call must make it?
Comparison same_group(const Group& group, const Given& given, int r) {
    const std::vector<int> expected = members(given, r);
    if (group.ranks() != expected) {
        return same_members(group.ranks(), expected);
    }
    const long place = std::ranges::find(expected, r) - expected.begin();
    const long rank = expected.empty() ? -1 : place;
    return {
        group.rank() == rank && group.size() == std::ssize(expected),
        text(
            "the ranks are right: ", expected, ". Among them rank ", r, " has place ", rank, " of ",
            expected.size(), ", and rank() says ", group.rank(), " of ", group.size()
        )};
}

constexpr int kLarge = INT_MAX;
constexpr int kExact = 1 << 24;  // a float has all whole numbers up to here

int zero(int /*r*/) {
    return 0;
}

std::vector<Given> usual(int p) {
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

std::vector<Given> extreme(int p) {
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
Given drawn(int p, std::uint64_t number) {
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

Given without_groups(int p) {
    return given(
        "nobody", p, [](int) { return MPI_UNDEFINED; }, zero
    );
}

/// Every color of a table has the members that it must have, and a color that no rank gives has
/// none.
void check_table(const Given& table) {
    INFO((table.colors.size() <= 17 ? text_of(table) : table.what + ", 1000 ranks"));
    for (int r = 0; r < std::min<int>(5, static_cast<int>(table.colors.size())); ++r) {
        const int color = table.colors[r];
        INFO("color " << color);
        CHECK(same_members(ordered_members(color, table.colors, table.keys), members(table, r)));
    }
    INFO("color 12345, which no rank gives");
    CHECK(same_members(ordered_members(12345, table.colors, table.keys), {}));
}

/// Every call makes the groups that it has to, one after the other.
void makes_groups(const Communicator& comm, const std::vector<Given>& calls) {
    Groups groups(comm);
    const auto r = static_cast<std::size_t>(comm.rank());
    for (const Given& call : calls) {
        const Group group = groups.split(call.what, call.colors[r], call.keys[r]);
        INFO(text_of(call));
        CHECK(same_group(group, call, comm.rank()));
    }
}

/// Each rank of the group tells the next one its number in the communicator. Did the previous one's
/// come?
Comparison passes_on(const Group& group, int tag = 0) {
    const int p = group.size();
    const int r = group.rank();
    if (p < 2) {
        return {};
    }
    const auto number = [&](int rank) { return static_cast<float>(group.ranks()[(rank + p) % p]); };
    const float mine[] = {number(r), number(r)};
    float got[] = {-1, -1};
    if (r == 0) {
        group.send(mine, 1, tag);
        group.recv(got, p - 1, tag);
    } else {
        group.recv(got, r - 1, tag);
        group.send(mine, (r + 1) % p, tag);
    }
    const float previous = number(r - 1);
    return same(got, std::vector{previous, previous});
}

/// Does a message that was sent in a group with `tag` have this tag on the communicator?
Comparison same_tag(int got, int context, int tag) {
    const int expected = context * Group::kTags + tag;
    std::string text = "expected tag " + std::to_string(expected) + " on the communicator, got " +
                       std::to_string(got);
    if (got == tag) {
        text +=
            ": that is the tag alone, as if the context were 0. Messages of the communicator may "
            "have it as well: the first call has context 1";
    } else if (got % Group::kTags == tag) {
        text += ": as if its context were " + std::to_string(got / Group::kTags) + ", and it is " +
                std::to_string(context) + ": the number of the call, the same on all ranks";
    }
    return {got == expected, text};
}

/// passes_on(), and whether its messages carry the tags of this context. Every rank of `comm` makes
/// this call; what it throws ends the test, so it stands in no CHECK.
Comparison passes_on_in(int context, const Group& group, int tag, const Communicator& comm) {
    Comparison arrived;
    const Traffic traffic = record(comm, [&] { arrived = passes_on(group, tag); });
    if (!arrived || !traffic.counted) {
        return arrived;
    }
    for (const MessageRecord& message : recorded_messages(comm)) {
        if (message.dst == comm.rank()) {
            arrived = same_tag(message.tag, context, tag);
        }
    }
    return arrived;
}

/// What is sent on a channel with tag 7: 0 is the communicator itself, others are groups.
struct Channels {
    const Communicator& comm;
    std::vector<Group> groups;

    void send(int channel, std::span<const float> data, int dst) const {
        channel == 0 ? dist::send(data, dst, comm, 7) : group(channel).send(data, dst, 7);
    }
    void recv(int channel, std::span<float> data, int src) const {
        channel == 0 ? dist::recv(data, src, comm, 7) : group(channel).recv(data, src, 7);
    }
    [[nodiscard]] const Group& group(int channel) const { return groups[channel - 1]; }
};

std::string channel_text(int channel) {
    return channel == 0 ? "the communicator" : "the group of call " + std::to_string(channel);
}

/// Rank 0 has two messages to rank 1 under way, the one of `a` first; rank 1 receives them in
/// either order.
void two_under_way(const Channels& channels, int a, int b, bool a_first) {
    const int r = channels.comm.rank();
    const auto of_a = input(5, 0, 1);
    const auto of_b = input(5, 0, 2);
    if (r == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(
            of_a.data(), 5, MPI_FLOAT, 1, a * Group::kTags + 7, channels.comm.handle(), &request
        );
        channels.send(b, of_b, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (r == 1) {
        auto got_a = poison(5);
        auto got_b = poison(5);
        channels.recv(a_first ? a : b, a_first ? got_a : got_b, 0);
        channels.recv(a_first ? b : a, a_first ? got_b : got_a, 0);
        INFO(
            "rank 0 sent in " << channel_text(a) << ", then in " << channel_text(b)
                              << ", both with tag 7; rank 1 received in "
                              << channel_text(a_first ? a : b) << " first"
        );
        CHECK(same(got_a, of_a, 0, {{of_b, "that was sent in " + channel_text(b)}}));
        CHECK(same(got_b, of_b, 0, {{of_a, "that was sent in " + channel_text(a)}}));
    }
}

/// All others send to the group's rank 0, which receives from the last one first.
void receives_from_each(const Group& group) {
    if (group.rank() != 0) {
        group.send(input(5, group.rank()), 0, 7);
        return;
    }
    for (int src = group.size() - 1; src > 0; --src) {
        auto got = poison(5);
        group.recv(got, src, 7);
        std::vector<Suspicion> others;
        for (int other = 1; other < group.size(); ++other) {
            others.push_back(
                {input(5, other),
                 "that is the message of the group's rank " + std::to_string(other)}
            );
        }
        INFO("all other ranks send to the group's rank 0, which receives from " << src);
        CHECK(same(got, input(5, src), 0, others));
    }
}

/// The test's own, where the exercise may not.
Communicator split_by_mpi(const Communicator& comm, int color) {
    const Permit the_tests_own;
    return comm.split(color, comm.rank());
}

struct Names {
    std::string what;
    std::string first, second;
};

std::vector<Names> names() {
    const std::string thousand(1000, 'x');
    return {
        {"of other lengths", "rows", "columns"},
        {"of which one begins with the other", "rows", "row"},
        {"of the same letters", "pair", "pari"},
        {"with the same 31 * a + b", "Aa", "BB"},
        {"with the same 33 * a + b", "Ab", "BA"},
        {"that differ in the highest bit of each byte", "caf\xc3\xa9", "cafC)"},
        {"of which one is empty", "", "all"},
        {"of which 1000 letters are the same, and the last is not", thousand + "1", thousand + "2"},
        {"of which the first letter is not the same", "a" + thousand, "b" + thousand},
        {"that differ behind a zero", std::string("a\0b", 3), std::string("a\0c", 3)},
        {"of which one ends with a zero", "a", std::string("a\0", 2)},
        {"of which one begins with a zero", "a", std::string("\0a", 2)},
        {"that say each word twice", "rowsrows", "colscols"},
        {"of which the first eight letters and the next have changed places", "tensor--pipeline",
         "pipelinetensor--"}};
}

/// Whether the text names the rank, no other one than rank 0 beside it, and `own` where this rank
/// knows it.
Comparison tells(
    const std::string& told, int rank, const std::string& own, const Communicator& comm
) {
    for (int r = 1; r < comm.size(); ++r) {
        const bool named = told.find(text("rank ", r)) != std::string::npos;
        if (named != (r == rank)) {
            return {
                false, text("rank ", rank) +
                           " is the first that makes another call than rank 0; got \"" +
                           told.substr(0, 200) + "\""};
        }
    }
    return {
        told.find(own.c_str()) != std::string::npos, "this rank's own name \"" + own.substr(0, 40) +
                                                         "\" is not in \"" + told.substr(0, 200) +
                                                         "\""};
}

/// Rank `other` calls it by the second name, and the ranks after it too.
void names_another_call(Groups& groups, const Names& names, int other, const Communicator& comm) {
    const int r = comm.rank();
    const std::string& own = r < other ? names.first : names.second;
    const Answer got = answer(comm, [&] { groups.split(own, 0, 0); });
    INFO(
        "names " << names.what << ": rank 0 gives one, rank " << other
                 << " and those after it another"
    );
    INFO("it must throw dist::Error on every rank, also where the call is right");
    CHECK(got.what == kError);
    if (got.what == kError) {
        CHECK(tells(got.text, other, own, comm));
    }
}

const Forbid kForbid(
    {"communicators", "MPI_Comm_create_group", "MPI_Comm_idup"},
    "This exercise makes groups by hand: a list of ranks, and tags that no other group has."
);

}  // namespace

TEST_CASE("ordered_members orders the ranks of a color by their keys, and equal keys by rank") {
    on_ranks({1}, [](const Communicator&) {
        for (const int p :
             {6, 0, 1, 2, 5, 17, 1000}) {  // std::sort keeps up to 16 equal elements in order
            std::vector<Given> tables = usual(p);
            for (const auto& more : {extreme(p), {without_groups(p)}, {drawn(p, 1), drawn(p, 2)}}) {
                tables.insert(tables.end(), more.begin(), more.end());
            }
            for (const Given& table : tables) {
                check_table(table);
            }
        }
    });
}

TEST_CASE("ordered_members refuses other numbers of keys than of colors") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector<int> three = {1, 0, 1};
        const std::vector<int> two = {1, 0};
        CHECK_THROWS_AS(ordered_members(1, three, two), std::invalid_argument);
        CHECK_THROWS_AS(ordered_members(1, two, three), std::invalid_argument);
        CHECK(ordered_members(1, three, three) == std::vector{0, 2});
    });
}

TEST_CASE("ordered_members takes a few operations a rank, of many ranks as well") {
    on_ranks({1}, [](const Communicator&) {
        const Given many = given("turned around", 50'000, zero, [](int r) { return -r; });
        std::size_t found = 0;
        const Comparison quick = takes_a_few_operations(
            "50 000 ranks, for each of them",
            [&] { found += ordered_members(0, many.colors, many.keys).size(); }, 2
        );
        CHECK(quick);
        CHECK(found % 50'000 == 0);
    });
}

TEST_CASE("split orders the ranks of each color by their keys, and equal keys by rank") {
    on_ranks(kWorlds, [](const Communicator& comm) { makes_groups(comm, usual(comm.size())); });
}

TEST_CASE("split takes every color that is not negative, and every key") {
    on_ranks(kWorlds, [](const Communicator& comm) { makes_groups(comm, extreme(comm.size())); });
}

TEST_CASE("split takes colors and keys in any mixture, and MPI_UNDEFINED for no group") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const int p = comm.size();
        std::vector<Given> calls = {
            given(
                "nobody", p, [](int) { return MPI_UNDEFINED; }, zero
            ),
            given(
                "all but rank 0", p, [](int r) { return r == 0 ? MPI_UNDEFINED : 3; }, zero
            )};
        for (std::uint64_t number = 0; number < 12; ++number) {
            calls.push_back(drawn(p, number));
        }
        makes_groups(comm, calls);
    });
}

TEST_CASE("split makes the same groups of 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        makes_groups(comm, usual(comm.size()));
        makes_groups(comm, extreme(comm.size()));
    });
}

TEST_CASE("split takes one collective call, and no message") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        Groups groups(comm);
        for (const std::size_t letters : {4UL, 0UL, 1000UL, 100'000UL}) {
            const std::string name(letters, 'x');
            const Traffic traffic = record(comm, [&] { groups.split(name, comm.rank() % 2, 0); });
            INFO("a name of " << counted(letters, "letter"));
            CHECK(within(traffic, {.messages_sent = exactly(0)}));
            if (traffic.counted) {
                INFO("one MPI_Allgather is enough: color, key and a fingerprint of the name");
                CHECK(traffic.collectives == 1);
            }
        }
    });
}

TEST_CASE("a group's message is one on the communicator, with tag context * kTags + tag") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const int r = comm.rank();
        Groups groups(comm);
        const Group first = groups.split("turned around", 5, -r);
        const Group second = groups.split("odd and even", r % 2, 0);
        groups.split("all but rank 0", r == 0 ? MPI_UNDEFINED : 5, 0);
        groups.split("all but the last", r == comm.size() - 1 ? MPI_UNDEFINED : 5, 0);
        const Group fifth = groups.split("all", 5, 0);
        for (const int tag : {7, 0, Group::kTags - 1}) {
            const Group* const all[] = {&first, &second, &fifth};
            const int contexts[] = {1, 2, 5};
            for (std::size_t i = 0; i < std::size(all); ++i) {
                INFO("tag " << tag << " in the group of call " << contexts[i]);
                const Comparison message = passes_on_in(contexts[i], *all[i], tag, comm);
                CHECK(message);
            }
        }
    });
}

TEST_CASE("a group's send and recv carry any number of floats, in one message") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const int last = comm.size() - 1;
        Groups groups(comm);
        const Group group = groups.split("turned around", 0, -comm.rank());
        for (const std::size_t n : lengths(comm.size())) {
            auto data = group.rank() == 0 ? input(n, 0) : poison(n);
            const Traffic traffic = record(comm, [&] {
                if (group.rank() == 0) {
                    group.send(data, last, 3);
                } else if (group.rank() == last) {
                    group.recv(data, 0, 3);
                }
            });
            INFO(counted(n, "float") << " from the group's rank 0 to its rank " << last);
            const bool sends = group.rank() == 0;
            CHECK(within(
                traffic, {.messages_sent = exactly(sends ? 1 : 0),
                          .bytes_sent = exactly(sends ? float_bytes(n) : 0)}
            ));
            if (group.rank() == last) {
                CHECK(same(data, input(n, 0)));
            }
        }
    });
}

TEST_CASE("messages of two groups and of the communicator never meet, whichever is received first"
) {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Groups groups(comm);
        Channels channels{comm, {}};
        channels.groups.push_back(groups.split("first", 1, 0));
        channels.groups.push_back(groups.split("second", 1, 0));
        for (const auto& [a, b] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}, {0, 2}, {2, 0}}) {
            two_under_way(channels, a, b, false);
            two_under_way(channels, a, b, true);
        }
    });
}

TEST_CASE("a group's recv takes the message of the rank it was asked for") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group group = groups.split("turned around", 0, -comm.rank());
        receives_from_each(group);
    });
}

TEST_CASE("a group's send and recv refuse ranks and tags that it does not have") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group group = groups.split("all", 0, -comm.rank());
        const Group nobody;
        const auto refused = [&](const std::string& what, const Group& in, int other, int tag) {
            auto data = poison(3);
            refuses(comm, "send: " + what, [&] { in.send(data, other, tag); });
            refuses(comm, "recv: " + what, [&] { in.recv(data, other, tag); });
        };
        refused("its own rank", group, group.rank(), 0);
        refused("rank -1", group, -1, 0);
        refused("a rank beyond the last", group, group.size(), 0);
        refused("a rank far beyond the last", group, INT_MAX, 0);
        refused("rank 0 of the empty group", nobody, 0, 0);
        if (comm.size() > 1) {
            const int other = (group.rank() + 1) % group.size();
            refused("tag -1", group, other, -1);
            refused("tag kTags", group, other, Group::kTags);
            refused("tag kTags + 1", group, other, Group::kTags + 1);
        }
    });
}

TEST_CASE("a group's recv refuses a message of another length") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group group = groups.split("all", 0, 0);
        for (const std::size_t n : {4U, 6U, 0U}) {
            auto data = comm.rank() == 0 ? input(5, 0) : poison(n);
            const Answer got = answer(comm, [&] {
                if (comm.rank() == 0) {
                    group.send(data, 1, 0);
                } else if (comm.rank() == 1) {
                    group.recv(data, 0, 0);
                }
            });
            INFO("5 floats were sent, and " << n << " are received: recv must throw dist::Error");
            CHECK(got.what == (comm.rank() == 1 ? kError : kReturned));
        }
    });
}

TEST_CASE("a group's send and recv throw dist::Error if a message fails") {
    reports_failures([](const Communicator& comm) {
        Groups groups(comm);
        passes_on(groups.split("all", 0, 0));
    });
}

TEST_CASE("split names the first rank that makes another call, on every rank") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        Groups groups(comm);
        for (const Names& pair : names()) {
            for (int other = 1; other < comm.size(); ++other) {
                names_another_call(groups, pair, other, comm);
            }
        }
    });
}

TEST_CASE("split does not count a call for which some give another name") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        Groups groups(comm);
        names_another_call(groups, names().front(), 1, comm);
        INFO("the call before was refused: this one is the first that counts");
        const Comparison message = passes_on_in(1, groups.split("all", 0, 0), 7, comm);
        CHECK(message);
    });
}

TEST_CASE("split names a rank that alone makes another call, and the first of two") {
    on_ranks({4, 3}, [](const Communicator& comm) {
        const int r = comm.rank();
        Groups groups(comm);
        const std::string one = r == 2 ? "other" : "usual";
        for (const int nobody : {-1, 2, 0, 1}) {
            const int color = r == nobody ? MPI_UNDEFINED : 0;
            const Answer alone = answer(comm, [&] { groups.split(one, color, 0); });
            INFO("rank 2 makes another call; the rank that is in no group: " << nobody);
            CHECK(alone.what == kError);
            CHECK(tells(alone.text, 2, one, comm));
        }
        for (const std::string word : {"name", "call", "row"}) {
            const std::string each = text(word, " ", r);
            const Answer all = answer(comm, [&] { groups.split(each, 0, 0); });
            CHECK(all.what == kError);
            CHECK(tells(all.text, 1, r < 2 ? each : "", comm));
            INFO("each rank gives a name of its own, so not both of ranks 0 and 1 give this one");
            CHECK(all.text.find(each) == all.text.rfind(each));
        }
    });
}

TEST_CASE("split refuses a negative color, and that call does not count") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        Groups groups(comm);
        for (const int color : {-1, INT_MIN, MPI_UNDEFINED - 1, MPI_UNDEFINED + 1}) {
            const std::string what = text("color ", color);
            const auto call = [&] { groups.split("all", color, 0); };
            refuses(comm, what, call);
            refuses(
                comm, what + " on the last rank", call, [] { return Comparison(); },
                {comm.size() - 1}
            );
        }
        INFO("the calls before were refused: this one is the first that counts");
        const Comparison message = passes_on_in(1, groups.split("all", 0, 0), 7, comm);
        CHECK(message);
    });
}

TEST_CASE("split counts the calls of each Groups: two communicators are split in turns") {
    on_ranks({4, 3, 5}, [](const Communicator& comm) {
        const int r = comm.rank();
        const Communicator half = split_by_mpi(comm, r % 2);
        Groups in_all(comm);
        Groups in_half(half);
        const Group first = in_all.split("first", 0, 0);
        const Group half_first = in_half.split("first", 0, 0);
        for (int more = 0; more < 3 * (r % 2); ++more) {
            in_half.split("odd ranks make more groups", 0, 0);
        }
        const Group second = in_all.split("second", 0, -r);
        const Group half_last = in_half.split("last", 0, -r);
        INFO("each rank splits two communicators, and odd ranks split one of them more often");
        for (const auto& [context, group] :
             {std::pair{1, &first},
              {2, &second},
              {1, &half_first},
              {2 + 3 * (r % 2), &half_last}}) {
            const Comparison message = passes_on_in(context, *group, 7, comm);
            CHECK(message);
        }
    });
}

TEST_CASE("a group may be copied, and lives longer than what made it") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        Group copy;
        {
            Groups groups(comm);
            const Group group = groups.split("turned around", 0, -comm.rank());
            copy = group;
        }
        const Group another = copy;
        INFO("the first copy, then a copy of it");
        const Comparison of_copy = passes_on(copy, 3);
        CHECK(of_copy);
        const Comparison of_another = passes_on(another, 3);
        CHECK(of_another);
        const Group none;
        CHECK(none.rank() == -1);
        CHECK(none.size() == 0);
    });
}

TEST_CASE("the last context has all tags") {
    on_ranks({2}, [](const Communicator& comm) {
        const Group group({1, 0}, Group::kContexts, comm);
        {
            INFO(
                "a group of ranks 1 and 0 of the communicator, in this order: the number of rank "
                << comm.rank()
            );
            CHECK(group.rank() == 1 - comm.rank());
        }
        const Comparison message = passes_on_in(Group::kContexts, group, Group::kTags - 1, comm);
        CHECK(message);
    });
}

TEST_CASE("split throws dist::Error when there are no more contexts, before any message") {
    on_ranks({1}, [](const Communicator& comm) {
        if (!record(comm, [] {}).counted) {
            skip("so many calls take too long in a simulation");
        }
        Groups groups(comm);
        for (int call = 1; call < Group::kContexts; ++call) {
            groups.split("again", 0, 0);
        }
        {
            INFO("the last one that there is");
            CHECK(groups.split("again", 0, 0).size() == 1);
        }
        const Answer got = answer(comm, [&] { groups.split("again", 0, 0); });
        INFO("one more: its tags would be larger than an int can be");
        CHECK(got.what == kError);
        INFO("how many collective calls it made before it threw");
        CHECK(got.traffic.collectives == 0);
    });
}
