// split: who is in a group, and in which order; messages that never meet; ranks that make another call.
#include "exercises/04_groups_and_rendezvous/split.hpp"

#include <algorithm>
#include <climits>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/protocol/counted.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/quick.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Ints = std::vector<int>;

/// What the ranks of one call give, by rank.
struct Given {
    std::string what;
    Ints colors;
    Ints keys;
};

/// p ranks give these in turn: rank r the r-th, and from the first on again when there are no more.
Given given(const std::string& what, int p, const Ints& colors, const Ints& keys) {
    Given all{what, {}, {}};
    for (std::size_t r = 0; r < static_cast<std::size_t>(p); ++r) {
        all.colors.push_back(colors[r % colors.size()]);
        all.keys.push_back(keys[r % keys.size()]);
    }
    return all;
}

/// The members of rank r's group, in their order.
Ints members(const Given& given, int r) {
    Ints ranks;
    for (int other = 0; other < std::ssize(given.colors); ++other) {
        if (given.colors[other] == given.colors[r] && given.colors[r] != MPI_UNDEFINED) {
            ranks.push_back(other);
        }
    }
    std::ranges::stable_sort(ranks, {}, [&](int rank) { return given.keys[rank]; });
    return ranks;
}

constexpr auto kFirst = std::views::take(17);  // as many of many ranks are told
constexpr auto kTurn = std::views::take(5);    // as many colors and keys: most come again then

/// Why the ranks of a group are likely to be these.
std::string suspect(const Ints& got, const Ints& expected) {
    Ints by_rank = expected;
    std::ranges::sort(by_rank);
    if (got == by_rank) {
        return ": that is the order of the communicator, as if all keys were equal";
    }
    if (std::ranges::equal(got, Ints(expected.rbegin(), expected.rend()))) {
        return ": that is the other way around: the smallest key comes first, and of equal ones "
               "the lower rank";
    }
    Ints sorted = got;
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
Comparison same_members(const Ints& got, const Ints& expected) {
    return {
        got == expected,
        text("expected ranks ", expected | kFirst, "; got ", got | kFirst, suspect(got, expected))};
}

/// Is this rank's group as the call must make it?
Comparison same_group(const Group& group, const Given& given, int r) {
    const Ints expected = members(given, r);
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

std::vector<Given> usual_and_extreme(int p) {
    return {
        given("all in one group", p, {0}, {0}),
        given("mixed", p, {0}, {1, 2, 0, 4, 3}),
        given("turned around", p, {0}, {0, -1, -2, -3, -4}),
        given("odd and even", p, {0, 1}, {10, 9, 8, 7, 6}),
        given("each alone", p, {0, 1, 2, 3, 4}, {0}),
        given("ties", p, {0}, {0, 0, -1, -1, -2}),
        given("the largest colors", p, {kLarge, kLarge - 1, kLarge - 2, kLarge - 3}, {0}),
        given("colors and keys beyond 16 bits", p, {0, 1 << 16}, {0, -(1 << 16), -(1 << 17)}),
        given("the smallest and the largest keys", p, {0}, {0, kLarge, INT_MIN, -1, kLarge - 1}),
        given("colors that no float tells apart", p, {kExact, kExact + 1}, {0}),
        given("keys that no float tells apart", p, {0}, {kExact + 1, kExact}),
        given("a key like MPI_UNDEFINED", p, {kLarge}, {MPI_UNDEFINED + 1, MPI_UNDEFINED}),
        given("nobody", p, {MPI_UNDEFINED}, {0}),
        given("all but every fifth rank", p, {MPI_UNDEFINED, 3, 3, 3, 3}, {0}),
        given("all of that", p, {kLarge, 0, MPI_UNDEFINED, kLarge, 0, 1}, {INT_MIN, 0, 0, -1})};
}

/// Every call makes the groups that it has to, one after the other.
void makes_groups(const Communicator& comm, const std::vector<Given>& calls) {
    Groups groups(comm);
    const auto r = static_cast<std::size_t>(comm.rank());
    for (const Given& call : calls) {
        const Group group = groups.split(call.what, call.colors[r], call.keys[r]);
        INFO(text(call.what, ": colors ", call.colors, "; keys ", call.keys));
        CHECK(same_group(group, call, comm.rank()));
    }
}

/// Each rank of the group tells the next one its number in the communicator. Did the previous one's come?
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
    std::string told = text("expected tag ", expected, " on the communicator, got ", got);
    if (got == tag) {
        told +=
            ": that is the tag alone, as if the context were 0. Messages of the communicator may "
            "have it as well: the first call has context 1";
    } else if (got % Group::kTags == tag) {
        told += text(
            ": as if its context were ", got / Group::kTags, ", and it is ", context,
            ": the number of the call, the same on all ranks"
        );
    }
    return {got == expected, told};
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

/// The test's own, where the exercise may not.
Communicator split_by_mpi(const Communicator& comm, int color) {
    const Permit the_tests_own;
    return comm.split(color, comm.rank());
}

/// Whether the text names the rank, no other one than rank 0 beside it, and `own` where this rank knows it.
Comparison tells(const std::string& told, int rank, const std::string& own, int p) {
    const std::string got = told.substr(0, 200);
    for (int r = 1; r < p; ++r) {
        const bool named = told.find(text("rank ", r)) != std::string::npos;
        if (named != (r == rank)) {
            return {
                false,
                text("rank ", rank, " is the first that makes another call; got \"", got, "\"")};
        }
    }
    return {
        told.find(own.c_str()) != std::string::npos,
        text("this rank's own name \"", own.substr(0, 40), "\" is not in \"", got, "\"")};
}

const Forbid kForbid(
    {"communicators", "MPI_Comm_create_group", "MPI_Comm_idup"},
    "This exercise makes groups by hand: a list of ranks, and tags that no other group has."
);

}  // namespace

TEST_CASE("ordered_members orders the ranks of a color by their keys, and equal keys by rank") {
    on_ranks({1}, [](const Communicator&) {
        // std::sort keeps up to 16 equal elements in order
        for (const int p : {5, 0, 1, 2, 6, 17, 1000}) {
            for (const Given& table : usual_and_extreme(p)) {
                INFO(text(
                    table.what, ": first colors ", table.colors | kTurn, "; keys ",
                    table.keys | kTurn
                ));
                for (int r = 0; r < std::min(5, p); ++r) {
                    const int color = table.colors[r];
                    INFO("color " << color);
                    CHECK(same_members(
                        ordered_members(color, table.colors, table.keys), members(table, r)
                    ));
                }
                INFO("color 12345, which no rank gives");
                CHECK(same_members(ordered_members(12345, table.colors, table.keys), {}));
            }
        }
    });
}

TEST_CASE("ordered_members refuses other numbers of keys than of colors") {
    on_ranks({1}, [](const Communicator&) {
        const Ints three = {1, 0, 1};
        const Ints two = {1, 0};
        CHECK_THROWS_AS(ordered_members(1, three, two), std::invalid_argument);
        CHECK_THROWS_AS(ordered_members(1, two, three), std::invalid_argument);
    });
}

TEST_CASE("ordered_members takes a few operations a rank, of many ranks as well") {
    on_ranks({1}, [](const Communicator&) {
        const Given many = given("three keys in turn", 50'000, {0}, {0, -1, -2});
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
    on_ranks(kWorlds, [](const Communicator& comm) {
        makes_groups(comm, usual_and_extreme(comm.size()));
    });
}

TEST_CASE("split makes the same groups of 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) { makes_groups(comm, usual_and_extreme(11)); });
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
            for (const auto& [context, group] : {std::pair{1, &first}, {2, &second}, {5, &fifth}}) {
                INFO("tag " << tag << " in the group of call " << context);
                const Comparison message = passes_on_in(context, *group, tag, comm);
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
            const long sends = group.rank() == 0 ? 1 : 0;
            CHECK(within(traffic, {.messages_sent = exactly(sends)}));
            if (group.rank() == last) {
                CHECK(same(data, input(n, 0)));
            }
        }
    });
}

TEST_CASE("messages of two groups and of the communicator never meet, whichever is first") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group first = groups.split("first", 1, 0);
        const Group second = groups.split("second", 1, 0);
        const auto numbers = [](int which) { return input(5, 0, which); };
        if (comm.rank() == 0) {  // all three are under way, with tag 7 each
            MPI_Request sends[2];
            const std::vector<float> data[] = {numbers(0), numbers(1)};
            MPI_Isend(data[0].data(), 5, MPI_FLOAT, 1, 7, comm.handle(), &sends[0]);
            MPI_Isend(data[1].data(), 5, MPI_FLOAT, 1, Group::kTags + 7, comm.handle(), &sends[1]);
            second.send(numbers(2), 1, 7);
            MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
        } else if (comm.rank() == 1) {
            std::vector<float> got[] = {poison(5), poison(5), poison(5)};
            second.recv(got[2], 0, 7);
            first.recv(got[1], 0, 7);
            dist::recv(got[0], 0, comm, 7);
            for (int which = 2; which >= 0; --which) {
                INFO("rank 1 receives first what was sent last: message " << which << " of three");
                CHECK(same(got[which], numbers(which)));
            }
        }
    });
}

TEST_CASE("a group's recv takes the message of the rank it was asked for") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group group = groups.split("turned around", 0, -comm.rank());
        if (group.rank() != 0) {
            group.send(input(5, group.rank()), 0, 7);
            return;
        }
        for (int src = group.size() - 1; src > 0; --src) {
            auto got = poison(5);
            group.recv(got, src, 7);
            std::vector<Suspicion> known;
            for (int r = 1; r < group.size(); ++r) {
                known.push_back({input(5, r), text("that is the message of the group's rank ", r)});
            }
            INFO("all other ranks send to the group's rank 0, which receives from " << src);
            CHECK(same(got, input(5, src), 0, known));
        }
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
        const std::string thousand(1000, 'x');
        const std::vector<std::tuple<std::string, std::string, std::string>> names = {
            {"of other lengths", "rows", "columns"},
            {"of the same letters", "pair", "pari"},
            {"with the same 31 * a + b", "Aa", "BB"},
            {"that differ in the highest bit of each byte", "caf\xc3\xa9", "cafC)"},
            {"of which 1000 letters are the same, and the last is not", thousand + "1",
             thousand + "2"},
            {"that differ behind a zero", std::string("a\0b", 3), std::string("a\0c", 3)}};
        for (const auto& [what, first, second] : names) {
            for (int other = 1; other < comm.size(); ++other) {
                const std::string own = comm.rank() < other ? first : second;
                const Answer got = answer(comm, [&] { groups.split(own, 0, 0); });
                INFO("names " << what << ": one of rank 0, another from rank " << other << " on");
                INFO("it must throw dist::Error on every rank, also where the call is right");
                CHECK(got.what == kError);
                if (got.what == kError) {
                    CHECK(tells(got.text, other, own, comm.size()));
                }
            }
        }
        INFO("the calls before were refused: this one is the first that counts");
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
            CHECK(tells(alone.text, 2, one, comm.size()));
        }
        const std::string each = text("name ", r);
        const Answer all = answer(comm, [&] { groups.split(each, 0, 0); });
        CHECK(all.what == kError);
        CHECK(tells(all.text, 1, r < 2 ? each : "", comm.size()));
        INFO("each rank gives a name of its own, so not both of ranks 0 and 1 give this one");
        CHECK(all.text.find(each) == all.text.rfind(each));
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
                comm, what + ", last rank", call, [] { return Comparison(); }, {comm.size() - 1}
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
        for (int more = 0; more < 3 * (r % 2); ++more) {
            in_half.split("odd ranks make more groups", 0, 0);
        }
        const Group second = in_all.split("second", 0, -r);
        const Group last = in_half.split("last", 0, -r);
        INFO("each rank splits two communicators, and odd ranks split one of them more often");
        for (const auto& [context, group] :
             {std::pair{1, &first}, {2, &second}, {1 + 3 * (r % 2), &last}}) {
            const Comparison message = passes_on_in(context, *group, 7, comm);
            CHECK(message);
        }
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
        CHECK(groups.split("again", 0, 0).size() == 1);  // the last one that there is
        const Answer got = answer(comm, [&] { groups.split("again", 0, 0); });
        INFO("one more: its tags would be larger than an int can be");
        CHECK(got.what == kError);
        INFO("how many collective calls it made before it threw");
        CHECK(got.traffic.collectives == 0);
    });
}
