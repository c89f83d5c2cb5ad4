// split: who is in a group, and in which order; messages that never meet; ranks that make another
// call.
#include "exercises/04_groups_and_rendezvous/split.hpp"

#include "course/protocol/counted.hpp"
#include "tests/04_groups_and_rendezvous/group_calls.hpp"
#include "tests/04_groups_and_rendezvous/group_messages.hpp"
#include "tests/04_groups_and_rendezvous/group_tables.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/quick.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

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
            const Comparison spent = within(traffic, {.messages_sent = exactly(0)});
            CHECK(spent);
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
    carries_any_number_of_floats();
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
        refused("rank 0 of the empty group", nobody, 0, 0);
        if (comm.size() > 1) {
            const int other = (group.rank() + 1) % group.size();
            refused("tag -1", group, other, -1);
            refused("tag kTags", group, other, Group::kTags);
        }
    });
}

TEST_CASE("a group's recv refuses a message of another length") {
    refuses_other_lengths();
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
            const Comparison rank_2 = tells(alone.text, 2, one, comm);
            CHECK(rank_2);
        }
        const std::string each = "name " + std::to_string(r);
        const Answer all = answer(comm, [&] { groups.split(each, 0, 0); });
        CHECK(all.what == kError);
        const Comparison rank_1 = tells(all.text, 1, r < 2 ? each : "", comm);
        CHECK(rank_1);
    });
}

TEST_CASE("split refuses a negative color, and that call does not count") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        Groups groups(comm);
        for (const int color : {-1, INT_MIN, MPI_UNDEFINED - 1, MPI_UNDEFINED + 1}) {
            const std::string what = "color " + std::to_string(color);
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
        CHECK(passes_on(copy, 3));
        CHECK(passes_on(another, 3));
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
