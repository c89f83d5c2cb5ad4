// Uses that come to no good end: given up, left over at the shutdown, or used after it.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/reference_words.hpp"

namespace dist::harness {

inline void never_made() {
    RefWorld world(3);
    world.remote(1, 0);
    world.lose();  // the call
    world.fork(1, 2);
    world.settle();
    for (const int rank : {1, 2}) {
        is_given_up(world, rank);
        world.drop(rank);
    }
    world.settle();
    all_is_over(world);
}

/// The call that makes the object comes when its use is given up.
inline void made_too_late(bool ends_first) {
    RefWorld world(2);
    const RefId id = world.remote(1, 0);
    const Letter call = world.letters.front();
    world.lose();
    world.settle();
    is_given_up(world, 1);
    if (ends_first) {
        world.drop(1);
        world.settle();
    }
    world.letters.push_back(call);
    world.settle();
    if (!ends_first) {
        is_given_up(world, 1);
        world.drop(1);
        world.settle();
    }
    INFO((ends_first ? "the use ended before that" : "the use ends after that"));
    is_freed(world, id);
    all_is_over(world);
}

inline void leaks() {
    RefWorld world(4);
    const RefId a = world.create(0);
    const RefId b = world.create(0);
    const RefId c = world.create(0);  // nobody else uses it
    world.fork(0, 1, 0);
    world.fork(0, 2, 0);
    world.fork(0, 3, 1);
    world.deliver_all();
    world.dead = {3};
    world.fork(1, 3);
    world.drop(2);
    world.drop(1);
    world.settle();
    const std::string owner = error_of([&] { world.at(0).shutdown(); });
    names("shutdown() of rank 0", owner, {to_string(a), "rank 1", to_string(b), "rank 3"});
    INFO("rank 2 has ended its use, and reference " << to_string(c) << " has no other");
    INFO(owner);
    CHECK(owner.find("rank 2") == std::string::npos);
    CHECK(owner.find(to_string(c)) == std::string::npos);
    const std::string user = error_of([&] { world.at(1).shutdown(); });
    names("shutdown() of rank 1", user, {to_string(a), "rank 0", "rank 3"});
    CHECK(error_of([&] { world.at(2).shutdown(); }).empty());
}

inline void held_at_shutdown() {
    for (const bool is_held : {true, false}) {
        RefWorld world(2);
        const RefId id = world.remote(1, 0);
        world.deliver_all();
        if (!is_held) {
            world.drop(1);
            world.deliver_all();
        }
        for (const int rank : {0, 1}) {
            const std::string error = error_of([&] { world.at(rank).shutdown(); });
            const std::string what = "shutdown() of rank " + std::to_string(rank);
            if (is_held) {
                names(what, error, {to_string(id), "rank 0", "rank 1"});
            } else {
                INFO(what << ", where nothing is left");
                CHECK(error.empty());
            }
        }
    }
}

inline void after_shutdown() {
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
    world.said({});
    fails("shutdown(), with a use left,", [&] { world.at(1).shutdown(); });
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
        fails("after the shutdown " + name, call);
    }
    world.drop(1);
    world.drop(1);
    says(world, "uses end after the shutdown", {});
    world.at(1).receive(0, {ControlKind::user_delete, false, data.reference, data.fork});
    said(world, "a message comes after the shutdown", {"1 to 0: ACK of USER_DELETE"});
    world.pass(1, 1s);
    said(world, "a message was lost before the shutdown", {"1 to 0: USER_DELETE"});
}

inline void outlive_the_context() {
    std::vector<RemoteRef> left;
    {
        RefWorld world(2);
        world.create(0);
        world.fork(0, 1);
        world.remote(1, 0);
        world.deliver_all();
        left = {world.ref(0), world.ref(1, 0), world.ref(1, 1)};
    }
    for (const RemoteRef& ref : left) {
        fails("without a RefContext fork_for()", [&] { static_cast<void>(ref.fork_for(0)); });
    }
}

}  // namespace dist::harness
