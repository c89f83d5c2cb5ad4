// remote_reference: an object is there as long as anybody uses it, and no longer. First what is
// said, word by word; then three ranks in all orders of all that can happen; then four ranks, at
// random.
#include "exercises/09_rpc/remote_reference.hpp"

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/reference_ends.hpp"
#include "tests/09_rpc/reference_lives.hpp"
#include "tests/09_rpc/reference_messages.hpp"
#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

constexpr Budget kNone = {};
constexpr Budget kLost = {.lost = 1};
constexpr Budget kRepeated = {.repeated = 1};
constexpr Budget kEarly = {.early = 1};

/// Goes through all orders of a plan, for each budget. What is `before` it has happened.
void in_all_orders(const Plan& before, const Plan& plan, const std::vector<Budget>& budgets) {
    on_ranks({1}, [&](const Communicator& comm) {
        for (const Budget& budget : budgets) {
            // a gate: the harness sees it move
            WalkLimits limits = {.goes_deep = true};
            limits.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);
                return true;
            };
            const Walked walked = walk(ReferenceGame(3, before, plan, budget), limits);
            const Comparison result = compared(walked);
            INFO(walked.states << " states");
            REQUIRE(result);
        }
    });
}

}  // namespace

TEST_CASE("remote_reference: nobody is told of an object that only its own rank uses") {
    on_one_rank(local_object);
}

TEST_CASE("an object made by another rank: one ACK, and USER_DELETE and its ACK at the end") {
    on_one_rank(made_by_another_rank);
}

TEST_CASE("the owner gives users a use without a message") {
    on_one_rank(owner_to_users);
}

TEST_CASE("a user gives the owner a use: CHILD_ACCEPT and its ACK") {
    on_one_rank(user_to_owner);
}

TEST_CASE("a user gives a user a use: FORK_REQUEST, CHILD_ACCEPT, and their ACKs") {
    on_one_rank(user_to_user_to_user);
}

TEST_CASE("a rank gives itself a use: the owner without a message, a user as any other rank") {
    on_one_rank(to_itself);
}

TEST_CASE("what comes before the object is made waits for it on the owner, and is not sent again") {
    on_one_rank(before_it_is_made);
}

TEST_CASE("a function begins when the owner knows its use, and no earlier") {
    on_one_rank([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.deliver_all();
        world.fork(1, 2);
        world.deliver();  // the call
        waits(world, 2);
        world.deliver();  // the FORK_REQUEST
        waits(world, 2);
        world.deliver();  // its ACK
        is_confirmed(world, 2);
    });
}

TEST_CASE("a callback may hold the use that it waits for: that ends when it was called") {
    on_one_rank(callbacks_hold_uses);
}

TEST_CASE("the value is one object, on its owner; who asks elsewhere is told whose it is") {
    on_one_rank([] {
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
        const std::string error = error_of([&] { static_cast<void>(world.ref(1).value()); });
        names("value() on rank 1", error, {"rank 0", "rank 1"});
    });
}

TEST_CASE("ids say which rank gave them, and none is given twice") {
    on_one_rank([] {
        RefWorld world(3);
        std::vector<GlobalId> ids;
        for (const int rank : {2, 1}) {
            for (int i = 0; i < 3; ++i) {
                ids.push_back(world.create(rank));
                ids.push_back(world.remote(rank, 0));
            }
            for (std::size_t i = 0; i < 6; ++i) {
                const RemoteRef& ref = world.ref(rank, i);
                const ForkData data = ref.fork_for(0);
                CHECK(data.reference == ref.id());
                CHECK(data.owner == ref.owner());
                CHECK(data.parent == rank);
                ids.push_back(data.fork);
            }
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            INFO("id number " << i << " is " << to_string(ids[i]) << "; rank 2 has given 12");
            CHECK(ids[i].creator == (i < 12 ? 2 : 1));
            CHECK(std::ranges::count(ids, ids[i]) == 1);
        }
    });
}

TEST_CASE("an object may hold references: they end when it is freed") {
    on_one_rank([] {
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
        is_there(world, held);
        user.reset();
        world.settle();
        is_freed(world, held);
        all_is_over(world);
    });
}

TEST_CASE("what is not acknowledged is sent again five times, each wait 1.5 times the last") {
    on_one_rank(sent_again);
}

TEST_CASE("a tick() that comes late sends once, and the next wait is from then on") {
    on_one_rank(ticks_late);
}

TEST_CASE("a use is given up one wait after its last FORK_REQUEST") {
    on_one_rank(given_up_in_time);
}

TEST_CASE("an ACK that is lost costs the message once more, and its ACK") {
    on_one_rank(lost_acks);
}

TEST_CASE("an object that is never made: its uses are given up, and cannot be given on") {
    on_one_rank(never_made);
}

TEST_CASE("an object that is made too late is of no use, and is not kept for it") {
    on_one_rank([] {
        made_too_late(false);
        made_too_late(true);
    });
}

TEST_CASE("shutdown names what is left: the ids, and the ranks that use it or have died") {
    on_one_rank(leaks);
}

TEST_CASE("a use that is still held is a leak, on its rank and on the owner") {
    on_one_rank(held_at_shutdown);
}

TEST_CASE("after shutdown nothing is given or used, and others are still answered") {
    on_one_rank(after_shutdown);
}

TEST_CASE("references may outlive the RefContext") {
    on_one_rank(outlive_the_context);
}

TEST_CASE("remote() refuses this rank as the owner") {
    on_one_rank([] {
        RefWorld world(2);
        bool is_refused = false;
        try {
            world.at(1).remote(1);
        } catch (const std::invalid_argument&) {
            is_refused = true;
        }
        CHECK(is_refused);
    });
}

// The numbers of states are those of the reference.

TEST_CASE("in all orders: an object made by another rank") {
    // 12, 18, 55, 135
    in_all_orders({}, {remote(1, 0), drops(1)}, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: the owner gives a user a use") {
    // 14, 19, 51, 68
    const Plan plan = {creates(0), forks(0, 1), drops(0), drops(1)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: a user gives the owner a use") {
    // 610, 1,148, 12,019, 48,954
    const Plan plan = {remote(1, 0), forks(1, 0), drops(1), drops(0)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: a user gives a user a use") {
    // 1,486, 3,670, 54,027
    const Plan plan = {remote(1, 0), forks(1, 2), drops(1), drops(2)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated});
}

TEST_CASE("in all orders: a user gives a user a use, and sends again what was not lost") {
    // 29,419
    in_all_orders({remote(1, 0)}, {forks(1, 2), drops(1), drops(2)}, {kEarly});
}

TEST_CASE("in all orders: a user gives itself a use") {
    // 626, 1,334, 31,964
    in_all_orders({remote(1, 0)}, {forks(1, 1), drops(1), drops(1)}, {kNone, kLost, kRepeated});
}

TEST_CASE("in all orders: from who had it made to another user, and from there to the owner") {
    // 31,145
    const Plan plan = {forks(1, 2), drops(1), forks(2, 0), drops(2), drops(0)};
    in_all_orders({remote(1, 0)}, plan, {kNone});
}

TEST_CASE("in all orders: from the owner to a user, to another one, and back") {
    // 66,486; the ACKs that nobody waits for come first, or it would be some millions
    const Plan before = {creates(0), forks(0, 1), drops(0)};
    const Plan plan = {forks(1, 2), drops(1), forks(2, 1), drops(2), drops(1)};
    in_all_orders(before, plan, {{.final_acks_at_once = true}});
}

TEST_CASE("four ranks, 500 seeds of delay, loss and repetition: nothing is freed early or kept") {
    on_ranks_each(
        {1}, [](int) { return 10; },
        [](const Communicator&, std::size_t part) {
            for (std::uint64_t seed = 50 * part; seed < 50 * (part + 1); ++seed) {
                const Comparison result = ReferenceLife(seed).play();
                INFO("seed " << seed);
                REQUIRE(result);
            }
        }
    );
}
