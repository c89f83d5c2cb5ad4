// Actors that wait: what their ranks do meanwhile, and who would wait for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/09_rpc/actor_calls.hpp"

namespace dist::harness {

inline void ranks_go_on(std::uint64_t seed) {
    ActorScene scene(2, {{"x", 2}}, seed);
    scene.spawns = {{"a"}, {"b"}, {"c"}};
    scene.network.delay = 5ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        const auto one = driver.begin("a", at(0), "ask", "b 1 add u");
        const auto other = driver.begin("a", at(1), "ask", "b 0 add v");
        scene.note(driver.end(one));
        scene.note(driver.end(other));
        scene.note(driver.call("a", at(0), "ask", "b 1 ask c 0 add w"));
        scene.note(driver.call("a", at(1), "ask", "b 1 ask c 1 add x"));
        scene.note(driver.call("c", kAll, "read"));
    };
    REQUIRE(scene.play());
    REQUIRE(scene.told({"0: ( )", "1: ( )", "0: ( ) ( )", "1: ( ) ( )", "0: w; 1: x"}));
}

/// Whether that note is an error that says "deadlock".
inline Comparison says_deadlock(const ActorScene& scene, std::size_t number) {
    const std::string line = number < scene.notes.size() ? scene.notes[number] : "nothing";
    const bool does = line.find(" failed: ") != std::string::npos &&
                      line.find("]: deadlock") != std::string::npos;
    return {
        does,
        "note " + std::to_string(number + 1) + ": \"" + line + R"(". It has to say "deadlock")"};
}

inline void calls_itself(std::uint64_t seed) {
    for (const char* way :
         {"a 0 add u", "b 1 ask a 0 add u", "b 0 ask a 0 add u", "b 1 ask c 2 ask a 0 add u",
          "b 1 ask c 1 ask b 1 add u"}) {
        INFO("a[x=0] is told: ask " << way);
        ActorScene scene(3, {{"x", 3}}, seed);
        scene.spawns = {{"a"}, {"b"}, {"c"}};
        scene.drivers[1] = [way](Driver& driver) {
            driver.scene.note(driver.call("a", at(0), "ask", way));
        };
        REQUIRE(scene.play());
        REQUIRE(says_deadlock(scene, 0));
        CHECK(scene.handled.empty());
    }
    ActorScene scene(3, {{"x", 3}}, seed);
    scene.spawns = {{"a"}, {"b"}};
    scene.drivers[1] = [](Driver& driver) {
        driver.scene.note(driver.call("a", at(0), "try", "b 1 ask a 0 add u"));
        driver.scene.note(driver.call("a", at(0), "add", "v"));
    };
    REQUIRE(scene.play());
    REQUIRE(scene.told({"0: ( !", "0: ( ! v"}));
}

inline void waits_further_down(std::uint64_t seed) {
    ActorScene scene(3, {{"x", 3}}, seed);
    scene.spawns = {{"a"}, {"b"}, {"c"}};
    scene.network.delays[{1, 2}] = 30ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        const auto below = driver.begin("a", at(1), "ask", "c 2 add u");
        driver.pause(5ms);
        const auto above = driver.begin("b", at(1), "ask", "a 1 add v");
        scene.note(driver.end(above));
        scene.note(driver.end(below));
        scene.note(driver.call("a", at(1), "add", "w"));
    };
    REQUIRE(scene.play());
    REQUIRE(says_deadlock(scene, 0));
    scene.notes.erase(scene.notes.begin());
    REQUIRE(scene.told({"1: ( )", "1: ( ) w"}));
}

inline void calls_one_that_saves(std::uint64_t seed) {
    ActorScene scene(3, {{"x", 3}}, seed);
    scene.spawns = {{"a"}, {"b", 1}};
    scene.network.delays[{1, 2}] = 20ms;
    scene.drivers[0] = [&scene](Driver& driver) {
        const auto one = driver.begin("b", at(1), "add", "u");
        driver.pause(10ms);
        const auto other = driver.begin("a", at(1), "ask", "b 1 add v");
        scene.note(driver.end(one));
        scene.note(driver.end(other));
        scene.note(driver.call("b", at(1), "read"));
        driver.call("b", at(1), "fail", "why");
        driver.pause(160ms - scene.time.now());
        scene.note(driver.call("a", at(1), "add", "w"));
    };
    scene.drivers[2] = [&scene](Driver& driver) {
        driver.pause(150ms - scene.time.now());
        driver.restart("b", 1);  // its snapshot is on its way when the last call comes
    };
    REQUIRE(scene.play());
    REQUIRE(scene.told({"1: u", "1: ( )", "1: u v", "1: ( ) w"}));
}

}  // namespace dist::harness
