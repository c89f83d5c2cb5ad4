// What ranks say of references, word by word.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/09_rpc/reference_words.hpp"

namespace dist::harness {

inline void local_object() {
    RefWorld world(2);
    const RefId id = world.create(0);
    std::optional<RemoteRef> copy = world.ref(0);
    counts(world, 0, {});
    world.drop(0);
    is_there(world, id);
    copy.reset();
    is_freed(world, id);
    says(world, "an object comes and goes", {});
}

inline void made_by_another_rank() {
    RefWorld world(2);
    const RefId id = world.remote(1, 0);
    waits(world, 1);
    says(world, "rank 1 has rank 0 make it", {"0 to 1: ACK of FORK_REQUEST"});
    is_confirmed(world, 1);
    counts(world, 0, {.owned = 1, .forks = 1});
    counts(world, 1, {.users = 1});
    std::optional<RemoteRef> copy = world.ref(1);
    world.drop(1);
    says(world, "a copy is left", {});
    copy.reset();
    says(world, "rank 1 ends its use", {"1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"});
    is_freed(world, id);
    all_is_over(world);
}

inline void owner_to_users() {
    RefWorld world(3);
    const RefId id = world.create(0);
    world.fork(0, 1);
    world.fork(0, 2);
    counts(world, 0, {.owned = 1, .forks = 2});
    world.drop(0);
    says(world, "the calls come", {});
    is_confirmed(world, 1);
    world.drop(1);
    says(world, "rank 1 ends its use", {"1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"});
    is_there(world, id);
    counts(world, 0, {.owned = 1, .forks = 1});
    world.drop(2);
    says(world, "rank 2 ends its use", {"2 to 0: USER_DELETE", "0 to 2: ACK of USER_DELETE"});
    is_freed(world, id);
    all_is_over(world);
}

inline void user_to_owner() {
    RefWorld world(2);
    const RefId id = world.remote(1, 0);
    says(world, "it is made", {"0 to 1: ACK of FORK_REQUEST"});
    world.fork(1, 0);
    world.drop(1);
    says(
        world, "rank 1 gives the owner a use, and ends its own",
        {"0 to 1: CHILD_ACCEPT", "1 to 0: ACK of CHILD_ACCEPT", "1 to 0: USER_DELETE",
         "0 to 1: ACK of USER_DELETE"}
    );
    is_confirmed(world, 0);
    is_there(world, id);
    world.drop(0);
    says(world, "the owner ends its use", {});
    is_freed(world, id);
    all_is_over(world);
}

inline void user_to_user_to_user() {
    RefWorld world(4);
    const RefId id = world.remote(1, 0);
    says(world, "it is made", {"0 to 1: ACK of FORK_REQUEST"});
    world.fork(1, 2);
    world.drop(1);
    says(
        world, "rank 1 gives rank 2 a use, and ends its own",
        {"2 to 0: FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST", "2 to 1: CHILD_ACCEPT",
         "1 to 2: ACK of CHILD_ACCEPT", "1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"}
    );
    world.fork(2, 3);
    says(
        world, "rank 2 gives rank 3 a use",
        {"3 to 0: FORK_REQUEST", "0 to 3: ACK of FORK_REQUEST", "3 to 2: CHILD_ACCEPT",
         "2 to 3: ACK of CHILD_ACCEPT"}
    );
    counts(world, 0, {.owned = 1, .forks = 2});
    world.drop(2);
    says(world, "rank 2 ends its use", {"2 to 0: USER_DELETE", "0 to 2: ACK of USER_DELETE"});
    is_there(world, id);
    world.drop(3);
    says(world, "rank 3 ends its use", {"3 to 0: USER_DELETE", "0 to 3: ACK of USER_DELETE"});
    is_freed(world, id);
    all_is_over(world);
}

inline void to_itself() {
    RefWorld world(2);
    const RefId id = world.create(0);
    world.fork(0, 0);
    world.drop(0);
    is_there(world, id);
    says(world, "the owner gives itself a use", {});
    counts(world, 0, {});
    world.fork(0, 1);
    world.drop(0);
    world.deliver_all();
    world.fork(1, 1);
    says(
        world, "a user gives itself a use",
        {"1 to 0: FORK_REQUEST", "0 to 1: ACK of FORK_REQUEST", "1 to 1: CHILD_ACCEPT",
         "1 to 1: ACK of CHILD_ACCEPT"}
    );
    world.drop(1);
    world.drop(1);
    world.deliver_all();
    is_freed(world, id);
    all_is_over(world);
}

/// What comes first: calls with a use, of which one has timed out, say, and is made again; then the
/// call that makes the object.
inline void before_it_is_made() {
    RefWorld world(3);
    const RefId id = world.remote(1, 0);
    world.fork(1, 0);
    world.fork(1, 0);
    world.fork(1, 2);
    for (int i = 0; i < 3; ++i) {
        world.deliver(1);
    }
    said(
        world, "three calls come",
        {"0 to 1: CHILD_ACCEPT", "0 to 1: CHILD_ACCEPT", "2 to 0: FORK_REQUEST"}
    );
    world.deliver(3);
    said(world, "the FORK_REQUEST comes before the object is made", {});
    waits(world, 0, 0);
    waits(world, 0, 1);
    waits(world, 2);
    fails("value() of what is not made", [&] { static_cast<void>(world.ref(0).value()); });
    fails("fork_for() of what is not made", [&] { static_cast<void>(world.ref(0).fork_for(2)); });
    world.deliver(0);
    const Lines acks = {"0 to 1: ACK of FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST"};
    said(world, "the object is made", acks, true);
    is_confirmed(world, 0, 0);
    is_confirmed(world, 0, 1);
    world.deliver_all();
    for (const int rank : {0, 0, 1, 2}) {
        world.drop(rank);
    }
    world.deliver_all();
    is_freed(world, id);
    all_is_over(world);
}

/// At which times, in ms, a rank says something in the next 20 s.
inline std::vector<long> says_at(RefWorld& world, int rank) {
    std::vector<long> times;
    world.said({});
    for (long ms = 1; ms <= 20000; ++ms) {
        world.pass(rank, 1ms);
        if (!world.said({})) {
            times.push_back(ms);
        }
    }
    return times;
}

inline void is_sent_at(
    RefWorld& world, int rank, const std::string& what, const std::vector<long>& expected
) {
    const std::vector<long> got = says_at(world, rank);
    INFO("when " << what << " is sent again, in ms, if nobody answers");
    CHECK(got == expected);
}

inline void sent_again() {
    const std::vector<long> times = {1000, 2500, 4750, 8125, 13187};
    {
        RefWorld world(2);
        world.dead = {0};
        world.remote(1, 0);
        is_sent_at(world, 1, "FORK_REQUEST, for which a call stood at first,", times);
    }
    {
        RefWorld world(3);
        world.remote(1, 0);
        world.deliver_all();
        world.dead = {0};
        world.fork(1, 2);
        world.deliver_all();
        is_sent_at(world, 2, "FORK_REQUEST", times);
    }
    {
        RefWorld world(2);
        world.remote(1, 0);
        world.fork(1, 0);
        world.dead = {1};
        world.deliver_all();
        is_sent_at(world, 0, "CHILD_ACCEPT", times);
        world.pass(0, 10s);
        counts(world, 0, {.owned = 1, .forks = 1});
    }
    {
        RefWorld world(2, {.max_retries = 2, .first_wait = 100ms, .backoff = 3});
        world.remote(1, 0);
        world.deliver_all();
        world.dead = {0};
        world.drop(1);
        is_sent_at(world, 1, "USER_DELETE, twice, from 100 ms and times 3,", {100, 400});
        counts(world, 1, {});
    }
}

/// A rank hands its use to the function that waits for it, and has it nowhere else.
inline void hand_over(RefWorld& world, int rank) {
    world.ref(rank).when_confirmed([ref = world.ref(rank)](const std::exception_ptr&) {});
    world.drop(rank);
}

inline void callbacks_hold_uses() {
    {
        RefWorld world(3);
        const RefId id = world.remote(1, 0);
        world.fork(1, 2);
        world.fork(1, 0);
        world.deliver(2);  // to the owner, which has no object yet
        world.deliver(1);
        for (const int rank : {0, 1, 2}) {
            hand_over(world, rank);
        }
        world.settle();
        is_freed(world, id);
        all_is_over(world);
    }
    {
        RefWorld world(2);
        const RefId id = world.create(0);
        world.fork(0, 1);
        world.deliver_all();
        hand_over(world, 1);
        hand_over(world, 0);
        world.settle();
        is_freed(world, id);
        all_is_over(world);
    }
    INFO("the call that makes the object is lost");
    RefWorld world(2);
    world.remote(1, 0);
    world.lose();
    hand_over(world, 1);
    world.settle();
    all_is_over(world);
}

/// Who looks a minute late sends once, and waits from then on.
inline void ticks_late() {
    RefWorld world(2);
    world.dead = {0};
    world.remote(1, 0);
    world.said({});
    world.pass(1, 60s);
    said(world, "the first tick() comes a minute late", {"1 to 0: FORK_REQUEST"});
    is_sent_at(world, 1, "FORK_REQUEST, a minute late,", {1500, 3750, 7125, 12187});
}

inline void given_up_in_time() {
    RefWorld world(2);
    world.dead = {0};
    world.remote(1, 0);
    for (const Ms wait : {1000ms, 1500ms, 2250ms, 3375ms, 5062ms, 7592ms}) {
        world.pass(1, wait);
        waits(world, 1);
    }
    world.pass(1, 1ms);
    is_given_up(world, 1);
}

/// The first letter is a message. Its ACK is lost, so it is sent again after a second.
inline void with_a_lost_ack(RefWorld& world, const std::string& message, int from, int to) {
    const std::string there = std::to_string(from) + " to " + std::to_string(to) + ": ";
    const std::string back = std::to_string(to) + " to " + std::to_string(from) + ": ";
    const Lines both = {there + message, back + "ACK of " + message};
    world.deliver();
    said(world, message, both);
    world.lose();
    world.pass(from, 1s);
    world.deliver();
    said(world, message + ", whose ACK was lost", both);
}

inline void lost_acks() {
    RefWorld world(3);
    const RefId id = world.remote(1, 0);
    world.deliver_all();
    world.said({});
    world.fork(1, 2);
    world.deliver();
    with_a_lost_ack(world, "FORK_REQUEST", 2, 0);
    world.deliver();
    with_a_lost_ack(world, "CHILD_ACCEPT", 2, 1);
    world.deliver_all();
    world.drop(1);
    with_a_lost_ack(world, "USER_DELETE", 1, 0);
    world.deliver_all();
    world.drop(2);
    with_a_lost_ack(world, "USER_DELETE", 2, 0);
    world.deliver_all();
    is_freed(world, id);
    all_is_over(world);
}

}  // namespace dist::harness
