// remote_reference: an object is there as long as anybody uses it, and no longer. First what is said, word by word; then three
// ranks in all orders of all that can happen; then four ranks, at random.
#include "exercises/09_rpc/remote_reference.hpp"

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// By both ways to ask.
Comparison is_confirmed(RefWorld& world, int rank, std::size_t i = 0) {
    return {
        world.told(rank, i) == RefWorld::kConfirmed && world.ref(rank, i).is_confirmed(),
        text("a use on rank ", rank, " has to be confirmed")};
}

/// Neither confirmed nor given up.
Comparison waits(RefWorld& world, int rank, std::size_t i = 0) {
    return {
        world.told(rank, i).empty() && !world.ref(rank, i).is_confirmed(),
        text("a use on rank ", rank, " must not be confirmed yet")};
}

/// What must be when nobody has a use any more.
Comparison all_is_over(RefWorld& world) {
    world.look_at_end();
    return world.result();
}

/// Ranks do something, all that is sent comes, and that is what they say.
struct Beat {
    Plan plan;
    Lines says;
};

/// After each beat all uses are confirmed and counted; after the last one there is none.
void plays(int ranks, const std::vector<Beat>& beats) {
    on_one([&] {
        RefWorld world(ranks);
        for (const auto& [plan, says] : beats) {
            Lines what;
            for (const Move& move : plan) {
                act(world, move);
                what.push_back(text_of(move));
            }
            INFO(text(what));
            CHECK(world.says("what they say", says));
            std::vector<RefCounts> expected(ranks);
            std::set<RefId> shared;
            for (int rank = 0; rank < ranks; ++rank) {
                for (std::size_t i = 0; i < world.uses(rank).size(); ++i) {
                    CHECK(is_confirmed(world, rank, i));
                    if (const RemoteRef& use = world.ref(rank, i); use.owner() != rank) {
                        ++expected[rank].users;
                        ++expected[use.owner()].forks;
                        expected[use.owner()].owned += shared.insert(use.id()).second ? 1 : 0;
                    }
                }
            }
            for (int rank = 0; rank < ranks; ++rank) {
                INFO("what rank " << rank << " counts");
                CHECK(text_of(world.at(rank).counts()) == text_of(expected[rank]));
            }
        }
        CHECK(all_is_over(world));
    });
}

/// USER_DELETE of a rank, and its ACK.
Lines deletes(int rank, int owner = 0) {
    return {
        text(rank, " to ", owner, ": USER_DELETE"),
        text(owner, " to ", rank, ": ACK of USER_DELETE")};
}

/// It throws an Error.
Comparison fails(const std::string& what, const std::function<void()>& call) {
    return {thrown_as(call) == "dist::Error", what + " must throw an Error"};
}

/// It is given up, and nobody can be given one by it.
Comparison is_given_up(RefWorld& world, int rank) {
    const std::string use = text("of a use on rank ", rank, " that is given up, ");
    std::string told;
    world.ref(rank).when_confirmed([&](const std::exception_ptr& error) { told = text_of(error); });
    const bool is_told =
        !told.empty() && world.told(rank) == told && !world.ref(rank).is_confirmed();
    for (int to = 0; is_told && to < world.size(); ++to) {
        const auto fork = [&] { static_cast<void>(world.ref(rank).fork_for(to)); };
        if (const Comparison failed = fails(text(use, "fork_for(", to, ")"), fork); !failed) {
            return failed;
        }
    }
    return {is_told, use + "when_confirmed() must tell an Error"};
}

/// When it says something in the next 20 s, in ms, if nobody answers.
Comparison is_sent_at(
    RefWorld& world, int rank, const std::string& what, const std::vector<long>& expected
) {
    std::vector<long> times;
    world.sent();
    for (long ms = 1; ms <= 20000; ++ms) {
        world.pass(rank, 1ms);
        if (!world.sent().empty()) {
            times.push_back(ms);
        }
    }
    return {
        times == expected,
        text(what, " is sent again after ", times, " ms; it must be after ", expected)};
}

/// The function that waits for a use holds it.
void let_hold(RefWorld& world, int rank) {
    world.ref(rank).when_confirmed([ref = world.ref(rank)](const std::exception_ptr&) {});
}

/// Four ranks, three objects, eight uses that are given. Each rank ends all that it gets.
Plan drawn_plan(std::mt19937_64& random) {
    const auto a_rank = [&] { return static_cast<int>(random() % 4); };
    Plan plan;
    std::vector<int> to_end(4);
    for (int i = 0; i < 11; ++i) {
        const int rank = a_rank();
        const int other = a_rank();
        plan.push_back(
            i >= 3          ? forks(rank, other)
            : rank == other ? creates(rank)
                            : remote(rank, other)
        );
        ++to_end[i >= 3 ? other : rank];
        if (to_end[rank] > 0 && random() % 3 == 0) {
            plan.push_back(drops(rank));
            --to_end[rank];
        }
    }
    for (int rank = 0; rank < 4; ++rank) {
        plan.insert(plan.end(), to_end[rank], drops(rank));
    }
    return plan;
}

/// One of all orders. A use is given up after six waits, so no rank sends again that often.
Comparison in_one_order(std::mt19937_64& random) {
    const ReferenceGame game(4, {}, drawn_plan(random), {.lost = 6, .repeated = 6, .early = 5});
    ReferenceState state = game.begun();
    Walked walked;
    while (walked.way.size() < 1000) {
        walked.broken = walking::judged([&] { return game.judge(state); });
        const auto events = game.events(state);
        if (walked.broken || events.empty()) {
            return compared(walked);
        }
        const auto& event = events[random() % events.size()];
        walked.way.push_back(game.text(state, event));
        ReferenceGame::happens(state, event);
    }
    return {false, "they send messages without end"};
}

}  // namespace

TEST_CASE("remote_reference: nobody is told of an object that only its own rank uses") {
    plays(2, {{{creates(0)}, {}}, {{drops(0)}, {}}});
}

TEST_CASE("copies are one use: it ends with the last of them") {
    on_one([] {
        for (const int owner : {0, 1}) {
            RefWorld world(2);
            const RefId id = owner == 0 ? world.create(0) : world.remote(0, owner);
            world.deliver_all();
            world.sent();
            std::optional<RemoteRef> copy = world.ref(0);
            world.drop(0);
            CHECK(world.says("a copy is left", {}));
            CHECK(world.is_there(id));
            copy.reset();
            world.deliver_all();
            CHECK(all_is_over(world));
        }
    });
}

TEST_CASE("an object made by another rank: one ACK, and USER_DELETE and its ACK at the end") {
    plays(2, {{{remote(1, 0)}, {"0 to 1: ACK of FORK_REQUEST"}}, {{drops(1)}, deletes(1)}});
}

TEST_CASE("the owner gives users a use without a message") {
    plays(
        3, {{{creates(1), forks(1, 0), forks(1, 2), drops(1)}, {}},
            {{drops(0)}, deletes(0, 1)},
            {{drops(2)}, deletes(2, 1)}}
    );
}

TEST_CASE("a user gives the owner a use: CHILD_ACCEPT and its ACK") {
    plays(
        2, {{{remote(1, 0)}, {"0 to 1: ACK of FORK_REQUEST"}},
            {{forks(1, 0)}, {"0 to 1: CHILD_ACCEPT", "1 to 0: ACK of CHILD_ACCEPT"}},
            {{drops(1)}, deletes(1)},
            {{drops(0)}, {}}}
    );
}

TEST_CASE("a user gives a user a use: FORK_REQUEST, CHILD_ACCEPT, and their ACKs") {
    plays(
        4, {{{remote(1, 0)}, {"0 to 1: ACK of FORK_REQUEST"}},
            {{forks(1, 2), drops(1)},
             {"2 to 0: FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST", "2 to 1: CHILD_ACCEPT",
              "1 to 2: ACK of CHILD_ACCEPT", "1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"}},
            {{forks(2, 3)},
             {"3 to 0: FORK_REQUEST", "0 to 3: ACK of FORK_REQUEST", "3 to 2: CHILD_ACCEPT",
              "2 to 3: ACK of CHILD_ACCEPT"}},
            {{drops(2)}, deletes(2)},
            {{drops(3)}, deletes(3)}}
    );
}

TEST_CASE("a rank gives itself a use: the owner without a message, a user as any other rank") {
    plays(
        2, {{{creates(0), forks(0, 0), drops(0)}, {}},
            {{forks(0, 1), drops(0)}, {}},
            {{forks(1, 1)},
             {"1 to 0: FORK_REQUEST", "0 to 1: ACK of FORK_REQUEST", "1 to 1: CHILD_ACCEPT",
              "1 to 1: ACK of CHILD_ACCEPT"}},
            {{drops(1)}, deletes(1)},
            {{drops(1)}, deletes(1)}}
    );
}

// Calls with a use, of which one has timed out, say, and is made again; then the call that makes the object.
TEST_CASE("what comes before the object is made waits for it on the owner, and is not sent again") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        for (const int to : {0, 0, 2}) {
            world.fork(1, to);
        }
        for (int i = 0; i < 3; ++i) {
            world.deliver(1);
        }
        CHECK(world.said(
            "three calls come",
            {"0 to 1: CHILD_ACCEPT", "0 to 1: CHILD_ACCEPT", "2 to 0: FORK_REQUEST"}
        ));
        world.deliver(3);
        CHECK(world.said("the FORK_REQUEST comes before the object is made", {}));
        CHECK(waits(world, 0, 0));
        CHECK(waits(world, 0, 1));
        CHECK(waits(world, 2));
        RemoteRef& early = world.ref(0);
        CHECK(fails("value() of what is not made", [&] { static_cast<void>(early.value()); }));
        CHECK(fails("fork_for() of what is not made", [&] { static_cast<void>(early.fork_for(2)); })
        );
        world.deliver(0);
        const Lines acks = {"0 to 1: ACK of FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST"};
        CHECK(world.said("the object is made", acks));
        CHECK(is_confirmed(world, 0, 0));
        CHECK(is_confirmed(world, 0, 1));
    });
}

TEST_CASE("a callback may hold the use that it waits for: that ends when it was called") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.fork(1, 2);
        world.fork(1, 0);
        world.deliver(2);  // to the owner, which has no object yet
        world.deliver(1);
        for (const int rank : {0, 1, 2}) {
            let_hold(world, rank);
            world.drop(rank);
        }
        world.create(0);
        let_hold(world, 0);
        world.drop(0);
        world.settle();
        CHECK(all_is_over(world));
    });
}

TEST_CASE("the value is one object, on its owner; who asks elsewhere is told whose it is") {
    on_one([] {
        RefWorld world(2);
        world.create(0);
        world.create(0);
        for (const int rank : {0, 1}) {
            world.fork(rank, 1 - rank, 0);
            world.fork(rank, 1 - rank, 1);
            world.deliver_all();
        }
        const auto number = [&](std::size_t i) {
            return std::any_cast<std::shared_ptr<int>>(world.ref(0, i).value());
        };
        *number(0) = 10;
        *number(3) = 20;
        CHECK(*number(2) == 10);
        CHECK(*number(1) == 20);
        CHECK(world.ref(0, 0).id() == world.ref(1, 0).id());
        CHECK(world.ref(0, 0).id() != world.ref(0, 1).id());
        CHECK(world.ref(1, 0).owner() == 0);
        const auto value = [&] { static_cast<void>(world.ref(1).value()); };
        CHECK(throws_error(value, {"rank 0", "rank 1"}));
    });
}

TEST_CASE("ids say which rank gave them, and none is given twice") {
    on_one([] {
        RefWorld world(3);
        std::set<GlobalId> all;
        for (const int rank : {2, 1}) {
            for (std::size_t i = 0; i < 6; ++i) {
                const RefId id = i % 2 == 0 ? world.create(rank) : world.remote(rank, 0);
                const ForkData data = world.ref(rank, i).fork_for(0);
                CHECK(data.reference == id);
                CHECK(data.owner == world.ref(rank, i).owner());
                CHECK(data.parent == rank);
                for (const GlobalId& one : {id, data.fork}) {
                    INFO("rank " << rank << " gives the id " << to_string(one));
                    CHECK(one.creator == rank);
                    CHECK(all.insert(one).second);
                }
            }
        }
        CHECK_THROWS_AS(world.at(1).remote(1), std::invalid_argument);
    });
}

TEST_CASE("an object may hold references: they end when it is freed") {
    on_one([] {
        RefWorld world(3);
        const RefId held = world.create(0);
        world.fork(0, 1);
        world.drop(0);
        world.deliver_all();
        std::optional<RemoteRef> holder = world.at(1).create(world.ref(1));
        world.drop(1);
        std::optional<RemoteRef> user = world.at(2).accept(holder->fork_for(2));
        holder.reset();
        world.settle();
        CHECK(world.is_there(held));
        user.reset();
        world.settle();
        CHECK(all_is_over(world));
    });
}

TEST_CASE("what is not acknowledged is sent again five times, each wait 1.5 times the last") {
    on_one([] {
        const std::vector<long> times = {1000, 2500, 4750, 8125, 13187};
        RefWorld world(5);
        world.remote(1, 0);
        world.remote(3, 0);
        world.deliver_all();
        world.fork(1, 2);
        world.fork(1, 0);
        world.dead = {0};
        world.deliver_all();
        world.drop(3);
        world.remote(4, 0);
        CHECK(is_sent_at(world, 4, "FORK_REQUEST, for which a call stood at first,", times));
        CHECK(is_sent_at(world, 2, "FORK_REQUEST", times));
        CHECK(is_sent_at(world, 0, "CHILD_ACCEPT", times));
        CHECK(is_sent_at(world, 3, "USER_DELETE", times));
        world.pass(4, 779ms);
        CHECK(waits(world, 4));
        for (const int rank : {0, 3, 4}) {
            world.pass(rank, 1s);
            CHECK(world.at(rank).counts().pending == 0);
        }
        CHECK(is_given_up(world, 4));
        RefWorld other(2, {.max_retries = 2, .first_wait = 100ms, .backoff = 3});
        other.remote(1, 0);
        CHECK(is_sent_at(other, 1, "what is to be sent twice, from 100 ms and times 3,", {100, 400})
        );
    });
}

TEST_CASE("a tick() that comes late sends once, and the next wait is from then on") {
    on_one([] {
        RefWorld world(2);
        world.remote(1, 0);
        world.pass(1, 60s);
        CHECK(world.said("the first tick() comes a minute late", {"1 to 0: FORK_REQUEST"}));
        CHECK(is_sent_at(world, 1, "FORK_REQUEST, a minute late,", {1500, 3750, 7125, 12187}));
    });
}

TEST_CASE("an ACK that is lost costs the message once more, and its ACK") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.deliver_all();
        world.sent();
        world.fork(1, 2);
        for (const auto& [message, from, to] : std::vector<std::tuple<std::string, int, int>>{
                 {"FORK_REQUEST", 2, 0}, {"CHILD_ACCEPT", 2, 1}, {"USER_DELETE", 1, 0}}) {
            world.deliver();  // the call, or the ACK of the message before
            if (message == "USER_DELETE") {
                world.drop(from);
            }
            const Lines both = {
                text(from, " to ", to, ": ", message),
                text(to, " to ", from, ": ACK of ", message)};
            world.deliver();
            CHECK(world.said(message, both));
            world.lose();
            world.pass(from, 1s);
            world.deliver();
            CHECK(world.said(message + ", whose ACK was lost", both));
        }
    });
}

TEST_CASE("an object that is never made: its uses are given up, and cannot be given on") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.lose();  // the call
        world.fork(1, 2);
        world.deliver();
        let_hold(world, 1);
        let_hold(world, 2);
        world.settle();
        for (const int rank : {1, 2}) {
            CHECK(is_given_up(world, rank));
            world.drop(rank);
        }
        world.settle();
        CHECK(all_is_over(world));
    });
}

TEST_CASE("an object that is made too late is of no use, and is not kept for it") {
    on_one([] {
        for (const bool ends_first : {false, true}) {
            INFO((ends_first ? "the use ended before that" : "the use ends after that"));
            RefWorld world(2);
            world.remote(1, 0);
            const Letter call = world.letters.front();
            world.lose();
            world.settle();
            for (const bool is_made : {false, true}) {
                if (is_made) {
                    world.letters.push_back(call);
                    world.settle();
                }
                if (!world.uses(1).empty()) {
                    CHECK(is_given_up(world, 1));
                }
                if (ends_first != is_made) {
                    world.drop(1);
                    world.settle();
                }
            }
            CHECK(all_is_over(world));
        }
    });
}

TEST_CASE("shutdown names what is left: the ids, and the ranks that use it or have died") {
    on_one([] {
        RefWorld world(4);
        const std::string a = to_string(world.create(1));
        const std::string b = to_string(world.create(1));
        const std::string c = to_string(world.create(1));  // no other rank uses it
        world.fork(1, 0, 0);
        world.fork(1, 2, 0);
        world.fork(1, 3, 1);
        world.fork(1, 0, 1);
        world.deliver_all();
        world.dead = {3};
        world.fork(0, 3);  // of a, and nobody accepts it
        world.drop(0);
        world.drop(2);
        world.settle();
        for (const auto& [rank, names, others] : std::vector<std::tuple<int, Lines, Lines>>{
                 {1, {a, "rank 0", b, "rank 3"}, {c, "rank 2"}},
                 {0, {a, "rank 3", b, "rank 1"}, {c, "rank 2"}},
                 {2, {}, {"rank"}}}) {
            const std::string error = error_of([&] { world.at(rank).shutdown(); });
            for (const std::string& name : names) {
                INFO("shutdown() of rank " << rank << " must name " << name << ": " << error);
                CHECK(error.find(name) != std::string::npos);
            }
            for (const std::string& other : others) {
                INFO("shutdown() of rank " << rank << " must not name " << other << ": " << error);
                CHECK(error.find(other) == std::string::npos);
            }
        }
    });
}

TEST_CASE("after shutdown nothing is given or used, and others are still answered") {
    on_one([] {
        RefWorld world(2);
        world.create(0);
        world.create(1);
        world.fork(0, 1);
        world.deliver_all();
        const ForkData data = world.ref(0).fork_for(1);
        const ForkData other = world.at(0).remote(1).data;
        world.fork(0, 1);
        world.deliver_all();
        world.drop(1, 2);
        world.lose();
        world.sent();
        CHECK(fails("shutdown(), with a use left,", [&] { world.at(1).shutdown(); }));
        const auto ignored = [](const std::exception_ptr&) {};
        const std::vector<std::pair<std::string, std::function<void()>>> calls = {
            {"create()", [&] { world.at(1).create(1); }},
            {"remote()", [&] { world.at(1).remote(0); }},
            {"make()", [&] { world.at(1).make(other, 1); }},
            {"accept()", [&] { world.at(1).accept(data); }},
            {"fork_for()", [&] { static_cast<void>(world.ref(1).fork_for(0)); }},
            {"when_confirmed()", [&] { world.ref(1).when_confirmed(ignored); }},
            {"value()", [&] { static_cast<void>(world.ref(1).value()); }}};
        for (const auto& [name, call] : calls) {
            CHECK(fails("after the shutdown " + name, call));
        }
        world.drop(1);
        world.drop(1);
        CHECK(world.says("uses end after the shutdown", {}));
        world.at(1).receive(0, {ControlKind::user_delete, false, data.reference, data.fork});
        CHECK(world.said("a message comes after the shutdown", {"1 to 0: ACK of USER_DELETE"}));
        world.pass(1, 1s);
        CHECK(world.said("a message was lost before the shutdown", {"1 to 0: USER_DELETE"}));
    });
}

TEST_CASE("references may outlive the RefContext") {
    on_one([] {
        auto world = std::make_unique<RefWorld>(2);
        world->create(0);
        world->fork(0, 1);
        world->remote(1, 0);
        world->deliver_all();
        const std::vector<RemoteRef> left = {world->ref(0), world->ref(1, 0), world->ref(1, 1)};
        world.reset();
        for (const RemoteRef& ref : left) {
            const auto fork = [&] { static_cast<void>(ref.fork_for(0)); };
            CHECK(fails("without a RefContext fork_for()", fork));
        }
    });
}

TEST_CASE(
    "in all orders: nothing is freed that is used, nothing begins too early, and nothing is kept"
) {
    const std::vector<ReferenceWalk> walks = reference_walks();
    on_ranks_each(
        {1}, [&](int) { return walks.size(); },
        [&](const Communicator& comm, std::size_t number) {
            // a gate: the harness sees it move
            WalkLimits limits = {.goes_deep = true};
            limits.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);
                return true;
            };
            const Walked walked = walk(walks[number].game, limits);
            INFO(walks[number].name << ": " << walked.states << " states");
            REQUIRE(compared(walked));
        }
    );
}

TEST_CASE("four ranks, 500 seeds of delay, loss and repetition: nothing is freed early or kept") {
    on_ranks_each(
        {1}, [](int) { return 10; },
        [](const Communicator&, std::size_t part) {
            for (std::uint64_t seed = 50 * part; seed < 50 * (part + 1); ++seed) {
                INFO("seed " << seed);
                std::mt19937_64 random(seed);
                REQUIRE(in_one_order(random));
            }
        }
    );
}
