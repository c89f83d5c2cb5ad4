// Actors that fail or die, and go on from a snapshot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/09_rpc/actor_calls.hpp"

namespace dist::harness {

inline void goes_on_from_the_snapshot() {
    for (const int p : {1, 2, 3}) {
        INFO("ranks: " << p << "; a snapshot after 2 messages");
        ActorScene scene(p, {{"x", 1}});
        scene.spawns = {{"a", 2}};
        scene.drivers[p - 1] = [&scene](Driver& driver) {
            driver.call("a", kAll, "add", "1");
            driver.call("a", kAll, "add", "2");
            scene.note(driver.call("a", kAll, "add", "3"));
            scene.note(driver.call("a", kAll, "fail", "why"));
            scene.note(driver.call("a", kAll, "add", "4"));
            scene.note(driver.restart("a", 0));
            scene.note(driver.call("a", kAll, "add", "5"));
            scene.note(driver.call("a", kAll, "add", "6"));
            driver.call("a", kAll, "fail", "again");
            scene.note(driver.restart("a", 0));
            scene.note(driver.call("a", kAll, "add", "7"));
        };
        INFO(
            "add 1, add 2, add 3, fail why, add 4, restart; add 5, add 6, fail again, restart; add "
            "7"
        );
        REQUIRE(scene.play());
        REQUIRE(scene.told(
            {"0: 1 2 3", "0 failed: fail: why", "0 failed: has failed: fail: why", "", "0: 1 2 5",
             "0: 1 2 5 6", "", "0: 1 2 5 6 7"}
        ));
    }
}

inline void without_a_snapshot() {
    ActorScene scene(3, {{"x", 3}});
    scene.spawns = {{"a", 2}};
    scene.drivers[0] = [&scene](Driver& driver) {
        driver.call("a", kAll, "add", "1");
        driver.call("a", at(1), "fail", "why");
        scene.note(driver.restart("a", 1));
        scene.note(driver.call("a", at(1), "add", "2"));
        scene.network.kill(2);
        scene.note(driver.restart("a", 2).substr(0, 10));
        scene.note(driver.call("a", kAll, "add", "3"));
    };
    INFO("add 1 to all; a[x=1] fails, restart, add 2; rank 2 dies, restart of a[x=2]; add 3 to all"
    );
    REQUIRE(scene.play());
    REQUIRE(scene.told({"", "1: 2", "2 failed: ", "0: 1 3; 1: 2 3; 2 failed: rank 2 has died"}));
}

inline void snapshot_takes_its_turn() {
    ActorScene scene(3, {{"x", 3}});
    scene.spawns = {{"a"}, {"b"}};
    scene.network.delays[{1, 2}] = 20ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        driver.call("a", kAll, "add", "1");
        const auto call = driver.begin("a", at(1), "ask", "b 2 add u");
        driver.pause(10ms);
        scene.note(driver.snapshot("a"));
        scene.note(driver.end(call));
        driver.call("a", kAll, "fail", "why");
        scene.note(driver.snapshot("a"));
        for (const int place : {0, 1, 2}) {
            scene.note(driver.restart("a", place));
        }
        scene.note(driver.call("a", kAll, "add", "2"));
        driver.call("a", at(0), "add", "nobody can save this");
        scene.note(driver.snapshot("a"));
        scene.note(driver.call("a", at(0), "add", "3"));
        scene.note(driver.restart("a", 0));
        scene.note(driver.call("a", kAll, "add", "4"));
    };
    INFO("a[x=1] has called another actor, and waits, when snapshot() is called");
    REQUIRE(scene.play());
    const std::string has = " failed: has failed: fail: why";
    REQUIRE(scene.told(
        {"", "1: 1 ( )", "0" + has + "; 1" + has + "; 2" + has, "", "", "",
         "0: 1 2; 1: 1 ( ) 2; 2: 1 2", "0 failed: snapshot: cannot be saved; 1: ; 2: ",
         "0 failed: has failed: snapshot: cannot be saved", "", "0: 1 4; 1: 1 ( ) 2 4; 2: 1 2 4"}
    ));
}

inline void restart_of_a_good_one() {
    ActorScene scene(3, {{"x", 3}});
    scene.spawns = {{"a", 2}, {"b"}};
    scene.network.delays[{1, 2}] = 20ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        driver.call("a", at(1), "add", "1");
        driver.restart("a", 1);
        scene.note(driver.call("a", at(1), "add", "2"));
        driver.call("a", at(1), "add", "3");
        driver.restart("a", 1);
        scene.note(driver.call("a", at(1), "read"));
        const auto call = driver.begin("a", at(1), "ask", "b 2 add u");
        driver.pause(10ms);
        driver.restart("a", 1);
        scene.note(driver.end(call));
    };
    REQUIRE(scene.play());
    REQUIRE(scene.told({"1: 1 2", "1: 1 2 3", "1: 1 2 3 ( )"}));
}

inline void cannot_be_made() {
    ActorScene scene(3, {{"x", 3}});
    scene.no_room = {1};
    scene.drivers[0] = [&scene](Driver& driver) {
        scene.note(driver.call("a", kAll, "add", "1"));
        scene.note(driver.restart("a", 1));
        scene.note(driver.call("a", at(1), "add", "2"));
        scene.no_room = {};
        scene.note(driver.restart("a", 1));
        scene.note(driver.call("a", kAll, "add", "3"));
    };
    REQUIRE(scene.play());
    const std::string has = "1 failed: has failed: spawn: no room";
    REQUIRE(scene.told(
        {"0: 1; " + has + "; 2: 1", "1 failed: no room", has, "", "0: 1 3; 1: 3; 2: 1 3"}
    ));
}

inline void goes_on_elsewhere() {
    ActorScene scene(4, {{"x", 4}});
    scene.spawns = {{"a", 1}};
    scene.drivers[0] = [&scene](Driver& driver) {
        driver.call("a", kAll, "add", "1");
        scene.network.kill(1);
        scene.note(driver.call("a", kAll, "add", "2"));
        scene.note(driver.restart("a", 1));
        scene.note(driver.call("a", kAll, "add", "3"));
        scene.note(driver.call("a", kAll, "where"));
        scene.note(driver.call("a", at(3), "ask", "a 1 add 4"));
        scene.network.kill(2);
        scene.note(driver.restart("a", 1));
        scene.note(driver.restart("a", 2));
        scene.note(driver.call("a", kAll, "add", "5"));
        scene.note(driver.call("a", kAll, "where"));
    };
    INFO(
        "add 1; rank 1 dies; add 2; restart; add 3; a[x=3] asks a[x=1]; rank 2 dies; restarts; add "
        "5"
    );
    REQUIRE(scene.play());
    REQUIRE(scene.told(
        {"0: 1 2; 1 failed: rank 1 has died; 2: 1 2; 3: 1 2", "",
         "0: 1 2 3; 1: 1 3; 2: 1 2 3; 3: 1 2 3", "0: 0; 1: 2; 2: 2; 3: 3", "3: 1 2 3 ( )", "", "",
         "0: 1 2 3 5; 1: 1 3 4 5; 2: 1 2 3 5; 3: 1 2 3 ( ) 5", "0: 0; 1: 3; 2: 3; 3: 3"}
    ));
}

inline void dead_peers() {
    ActorScene scene(4, {{"x", 1}});
    scene.spawns = {{"a", 2}};
    scene.drivers[3] = [&scene](Driver& driver) {
        driver.call("a", kAll, "add", "1");
        scene.network.kill(1);
        scene.note(driver.call("a", kAll, "add", "2"));
        driver.call("a", kAll, "fail", "why");
        scene.network.kill(2);
        scene.note(driver.restart("a", 0));
        scene.network.kill(0);
        scene.note(driver.restart("a", 0));
        scene.note(driver.call("a", kAll, "add", "3"));
        scene.note(driver.call("a", kAll, "add", "4"));
    };
    INFO(
        "add 1; rank 1 dies; add 2, snapshot; fail; rank 2 dies; restart; rank 0 dies; restart; "
        "add 3"
    );
    REQUIRE(scene.play());
    REQUIRE(scene.told({"0: 1 2", "", "", "0: 1 2 3", "0: 1 2 3 4"}));
}

inline void dies_at_any_time() {
    constexpr int kMessages = 5;
    for (int when = 2; when < 60; ++when) {
        INFO("rank 0 dies after " << when << " ms");
        ActorScene scene(3, {{"x", 1}}, static_cast<std::uint64_t>(when));
        scene.spawns = {{"a", 1}};
        scene.network.jitter = 3ms;
        scene.dies[0] = Ms(when);
        int answered = 0;
        std::string restored;
        scene.drivers[2] = [&answered, &restored, when](Driver& driver) {
            const auto went_well = [](const std::string& line) {
                return line.find("failed") == std::string::npos;
            };
            while (answered < kMessages &&
                   went_well(driver.call("a", kAll, "add", std::to_string(answered + 1)))) {
                ++answered;
            }
            driver.pause(std::max(Ms(when + 1) - driver.scene.time.now(), 0ms));
            if (went_well(driver.restart("a", 0))) {
                restored = driver.call("a", kAll, "read");
            }
        };
        REQUIRE(scene.play());
        std::string least = "0:";
        for (int i = 1; i <= answered; ++i) {
            least += " " + std::to_string(i);
        }
        const std::string most = least + " " + std::to_string(answered + 1);
        const bool is_right =
            restored == least || restored == most || (answered == 0 && restored.empty());
        const std::string text = "messages answered: " + std::to_string(answered) +
                                 ". Restarted elsewhere, the actor has handled \"" + restored +
                                 "\"";
        REQUIRE(Comparison{is_right, text});
    }
}

}  // namespace dist::harness
