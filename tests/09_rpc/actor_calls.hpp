// Calls of actors: whom they reach, what they bring back, in which order they are handled.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/actor_scene.hpp"

namespace dist::harness {

inline const ActorSlice kAll = {};

/// One actor of a mesh with the dimension x.
inline ActorSlice at(int place) {
    return {{"x", place}};
}

inline void calls_reach() {
    for (const int p : {1, 2, 4, 6, 7}) {
        INFO("ranks: " << p);
        ActorScene scene(p, {{"hosts", 2}, {"gpus", 3}});
        scene.drivers[p - 1] = [p, &scene](Driver& driver) {
            scene.note(driver.call("a", kAll, "add", "1"));
            scene.note(driver.call("a", {{"hosts", 1}}, "add", "2"));
            scene.note(driver.call("a", {{"gpus", 1}}, "add", "3"));
            scene.note(driver.call("a", {{"gpus", 2}, {"hosts", 0}}, "add", "4"));
            scene.note(driver.call("a", kAll, "add", "5"));
            scene.note(driver.call("a", {{"gpus", 0}, {"hosts", 0}}, "", "the empty endpoint"));
            for (int place = 0; place < 6; ++place) {
                const ActorSlice slice = {{"hosts", place / 3}, {"gpus", place % 3}};
                const std::string rank = std::to_string(place % p);
                if (driver.call("a", slice, "where") != std::to_string(place) + ": " + rank) {
                    scene.note("place " + std::to_string(place) + " is not on rank " + rank);
                }
            }
        };
        REQUIRE(scene.play());
        REQUIRE(scene.told(
            {"0: 1; 1: 1; 2: 1; 3: 1; 4: 1; 5: 1", "3: 1 2; 4: 1 2; 5: 1 2", "1: 1 3; 4: 1 2 3",
             "2: 1 4", "0: 1 5; 1: 1 3 5; 2: 1 4 5; 3: 1 2 5; 4: 1 2 3 5; 5: 1 2 5", "0: 1 5"}
        ));
    }
}

inline void costs() {
    for (const int snapshot_every : {0, 1}) {
        constexpr int kRanks = 8;
        ActorScene scene(kRanks, {{"x", kRanks}});
        scene.spawns = {{"a", snapshot_every}};
        scene.network.delay = 10ms;
        Ms took{0};
        scene.drivers[0] = [&took](Driver& driver) {
            const Ms began = driver.scene.time.now();
            driver.call("a", kAll, "add", "1");
            took = driver.scene.time.now() - began;
        };
        REQUIRE(scene.play());
        int calls = 0;
        for (const auto& [function, times] : scene.network.calls) {
            calls += times;
        }
        INFO("actors: 8, on 8 ranks; a message takes 10 ms; snapshots: " << snapshot_every);
        INFO("the call takes " << took.count() << " ms");
        CHECK(calls == kRanks * (1 + snapshot_every));
        CHECK(scene.network.answers == kRanks * (1 + snapshot_every));
        const Ms least = 20ms * (1 + snapshot_every);
        CHECK(took.count() >= least.count());
        CHECK(took.count() <= least.count() + 8);
    }
}

inline void failures_are_named() {
    const std::string fails = " failed: pick: out of memory";
    const std::string has = " failed: has failed: pick: out of memory";
    const std::vector<std::string> told = {
        "0: 2; 1: 2; 2" + fails + "; 3: 2", "0" + fails + "; 1: 2 03; 2" + has + "; 3" + fails,
        "0" + has + "; 1: 2 03 b; 2" + has + "; 3" + has};
    for (const int p : {2, 4}) {
        INFO("ranks: " << p);
        ActorScene scene(p, {{"x", 4}});
        scene.network.delays[{0, 1}] = 20ms;
        scene.drivers[0] = [&scene](Driver& driver) {
            scene.note(driver.call("a", kAll, "pick", "2"));
            scene.note(driver.call("a", kAll, "pick", "03"));
            scene.note(driver.call("a", kAll, "add", "b"));
        };
        REQUIRE(scene.play());
        REQUIRE(scene.told(told));
    }
    ActorScene slow(3, {{"x", 3}});
    slow.network.delays[{0, 1}] = ActorNetwork::kTimeout + 1ms;
    slow.drivers[0] = [](Driver& driver) { driver.scene.note(driver.call("a", kAll, "add", "1")); };
    REQUIRE(slow.play());
    REQUIRE(slow.told({"0: 1; 1 failed: no answer in time; 2: 1"}));
    ActorScene scene(3, {{"x", 2}, {"y", 1}, {"z", 2}});
    scene.drivers[0] = [](Driver& driver) {
        try {
            driver.mesh.call("a", kAll, "pick", to_bytes("1 2"));
        } catch (const MeshError& error) {
            driver.scene.note(error.what());
        }
    };
    REQUIRE(scene.play());
    REQUIRE(scene.told(
        {"2 of 4 actors failed: a[x=0, y=0, z=1]: pick: out of memory; a[x=1, y=0, z=0]: "
         "pick: out of memory"}
    ));
}

inline void stays_failed() {
    ActorScene scene(3, {{"x", 3}});
    scene.drivers[0] = [&scene](Driver& driver) {
        scene.note(driver.call("a", at(1), "fail", "first"));
        scene.note(driver.call("a", at(1), "fail", "second"));
        scene.note(driver.call("a", at(1), "add", "third"));
        scene.note(driver.call("a", kAll, "add", "fourth"));
        scene.note(driver.call("a", at(0), "odd", "7"));
        scene.note(driver.call("a", at(0), "read"));
    };
    scene.drivers[2] = [](Driver& driver) {
        driver.pause(50ms);
        driver.scene.note(driver.call("a", at(1), "add", "fifth"));
    };
    INFO("a[x=1] is told: fail first, fail second, add third, add fourth; add fifth by another rank"
    );
    REQUIRE(scene.play());
    const std::string has = "1 failed: has failed: fail: first";
    REQUIRE(scene.told(
        {"1 failed: fail: first", has, has, "0: fourth; " + has + "; 2: fourth",
         "0 failed: odd: unknown exception", "0 failed: has failed: odd: unknown exception", has}
    ));
    CHECK(scene.handled.count("a 1 add third") == 0);
}

inline void fails_with_a_queue() {
    ActorScene scene(3, {{"x", 3}});
    scene.spawns = {{"a"}, {"b"}};
    scene.network.delays[{1, 2}] = 20ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        const auto first = driver.begin("a", at(1), "ask", "b 2 fail why");
        const auto second = driver.begin("a", at(1), "add", "y");
        const auto third = driver.begin("a", at(1), "add", "z");
        scene.note(driver.end(first));
        scene.note(driver.end(second));
        scene.note(driver.end(third));
    };
    INFO("calls to a[x=1], all begun at once: ask, whose answer is an error, add y, add z");
    REQUIRE(scene.play());
    const std::string reason = "ask: 1 of 1 actors failed: b[x=2]: fail: why";
    REQUIRE(scene.told(
        {"1 failed: " + reason, "1 failed: has failed: " + reason,
         "1 failed: has failed: " + reason}
    ));
    CHECK(scene.handled.count("a 1 add y") == 0);
    CHECK(scene.handled.count("a 1 add z") == 0);
}

inline void one_at_a_time(std::uint64_t seed) {
    ActorScene scene(3, {{"x", 3}}, seed);
    scene.spawns = {{"a"}, {"b"}};
    scene.network.delays[{1, 2}] = 20ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        const auto first = driver.begin("a", at(1), "ask", "b 2 add u");
        const auto second = driver.begin("a", at(1), "add", "2");
        const auto third = driver.begin("a", at(1), "ask", "b 2 add v");
        const auto fourth = driver.begin("a", at(1), "add", "4");
        scene.note(driver.end(fourth));
        scene.note(driver.end(third));
        scene.note(driver.end(second));
        scene.note(driver.end(first));
    };
    INFO(
        "calls to a[x=1], all begun at once: ask, add 2, ask, add 4. Notes: from the last to the "
        "first"
    );
    REQUIRE(scene.play());
    REQUIRE(scene.told({"1: ( ) 2 ( ) 4", "1: ( ) 2 ( )", "1: ( ) 2", "1: ( )"}));
}

inline void refusals_of_a_mesh() {
    ActorScene scene(2, {{"x", 2}, {"y", 2}});
    scene.drivers[0] = [](Driver& driver) {
        const auto tries = [&](const std::function<void()>& call) {
            try {
                call();
                driver.scene.note("it returns");
            } catch (const std::invalid_argument&) {
                driver.scene.note("refused");
            }
        };
        tries([&] { driver.mesh.call("z", kAll, "add", {}); });
        tries([&] { driver.mesh.call("a", {{"z", 0}}, "add", {}); });
        tries([&] { driver.mesh.call("a", {{"x", 2}}, "add", {}); });
        tries([&] { driver.mesh.call("a", {{"x", 0}, {"y", -1}}, "add", {}); });
        tries([&] { driver.mesh.restart("a", 4); });
        tries([&] { driver.mesh.snapshot("z"); });
        tries([&] { driver.mesh.spawn("a", [](int) { return nullptr; }); });
        driver.scene.note(
            driver.scene.network.calls.empty() ? "no call" : "a call was begun for one of these"
        );
        driver.scene.note(driver.call("a", kAll, "add", "1"));
    };
    REQUIRE(scene.play());
    std::vector<std::string> told(7, "refused");
    told.insert(told.end(), {"no call", "0: 1; 1: 1; 2: 1; 3: 1"});
    REQUIRE(scene.told(told));
}

}  // namespace dist::harness
