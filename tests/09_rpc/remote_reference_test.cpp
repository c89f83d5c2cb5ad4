// remote_reference: an object is there as long as anybody uses it, and no longer. First what is said, word by word; then three
// ranks in all orders of all that can happen.
#include "exercises/09_rpc/remote_reference.hpp"

#include <algorithm>
#include <any>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
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
                move.act(world);
                what.push_back(move.what);
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
        CHECK(world.all_is_over());
    });
}

/// USER_DELETE of a rank, and its ACK.
Lines deletes(int rank, int owner = 0) {
    return {
        text(rank, " to ", owner, ": USER_DELETE"),
        text(owner, " to ", rank, ": ACK of USER_DELETE")};
}

/// Its function is told so, also if it asks again, and nobody can be given a use by it.
Comparison is_given_up(RefWorld& world, int rank) {
    std::string told;
    world.ref(rank).when_confirmed([&](const std::exception_ptr& error) {
        told = error ? error_of([&] { std::rethrow_exception(error); }) : RefWorld::kConfirmed;
    });
    if (told.empty() || world.told(rank) != told || world.ref(rank).is_confirmed()) {
        const std::string use = text("of a use on rank ", rank, " that is given up");
        return {false, use + ", when_confirmed() must tell an Error"};
    }
    return throws_error([&] { static_cast<void>(world.ref(rank).fork_for(0)); });
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
            CHECK(world.all_is_over());
        }
    });
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
        CHECK_THROWS_AS(world.ref(0).value(), Error);
        CHECK_THROWS_AS(world.ref(0).fork_for(2), Error);
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
        CHECK(world.all_is_over());
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
        CHECK(world.all_is_over());
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

TEST_CASE(
    "an object that is made too late, or never: its uses are given up, and it is not kept for them"
) {
    on_one([] {
        for (const std::string use :
             {"ends before that", "ends after that", "waits for it in vain"}) {
            INFO("the use " << use);
            RefWorld world(3);
            world.remote(1, 0);
            const Letter call = world.letters.front();
            world.lose();
            world.fork(1, 2);
            world.deliver();
            let_hold(world, 1);
            let_hold(world, 2);
            world.settle();
            for (const int rank : {1, 2}) {
                CHECK(is_given_up(world, rank));
                if (use != "ends after that") {
                    world.drop(rank);
                }
            }
            world.settle();
            if (use != "waits for it in vain") {
                world.letters.push_back(call);
                world.settle();
            }
            if (use == "ends after that") {
                CHECK(is_given_up(world, 1));
                world.drop(1);
                world.drop(2);
                world.settle();
            }
            CHECK(world.all_is_over());
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
        for (const auto& [rank, names] : std::map<int, Lines>{
                 {1, {a, "rank 0", b, "rank 3"}}, {0, {a, "rank 3", b, "rank 1"}}}) {
            const std::string error = error_of([&] { world.at(rank).shutdown(); });
            for (const std::string& name : names) {
                INFO("shutdown() of rank " << rank << " must name " << name << ": " << error);
                CHECK(error.find(name) != std::string::npos);
            }
            INFO("no other rank uses " << c << ", and rank 2 none: " << error);
            CHECK((error.find(c) == std::string::npos && error.find("rank 2") == std::string::npos)
            );
        }
        CHECK_NOTHROW(world.at(2).shutdown());
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
        RefContext& shut = world.at(1);
        CHECK_THROWS_AS(shut.shutdown(), Error);  // a use is left
        CHECK_THROWS_AS(shut.create(1), Error);
        CHECK_THROWS_AS(shut.remote(0), Error);
        CHECK_THROWS_AS(shut.make(other, 1), Error);
        CHECK_THROWS_AS(shut.accept(data), Error);
        CHECK_THROWS_AS(world.ref(1).fork_for(0), Error);
        CHECK_THROWS_AS(world.ref(1).when_confirmed([](const std::exception_ptr&) {}), Error);
        CHECK_THROWS_AS(world.ref(1).value(), Error);
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
            CHECK_THROWS_AS(ref.fork_for(0), Error);
        }
    });
}

TEST_CASE(
    "in all orders: nothing is freed that is used, nothing begins too early, and nothing is kept"
) {
    on_ranks_each(
        {1}, [](int) { return reference_walks().size(); },
        [](const Communicator& comm, std::size_t number) {
            WalkLimits limits = {.goes_deep = true};
            limits.goes_on = [&](std::size_t) {  // a gate: the harness sees it move
                same_on_all_ranks({}, comm);
                return true;
            };
            const auto [name, game] = reference_walks()[number];
            const Walked walked = walk(game, limits);
            INFO(name << ": " << walked.states << " states");
            REQUIRE(compared(walked));
        }
    );
}
