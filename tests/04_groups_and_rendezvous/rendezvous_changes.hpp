// Rounds that end: who comes late, leaves, dies, gives up or closes it all. See
// rendezvous_test.cpp.
#pragma once

#include <string>

#include "tests/04_groups_and_rendezvous/rendezvous_checks.hpp"

namespace dist::harness {

inline void late_nodes_wait() {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.all_act({"b", "c"});
        scene.pass(31s, {"b", "c"});
        check_ranks(scene, {"b", "c"});
        check_action(scene, scene.act("a"), Action::wait);
        check_waiting(scene, {"a"});
        check_members(scene, {"b", "c"});
        check_ranks(scene, {"b", "c"});
        check_action(scene, scene.act("b", Wish::stay), Action::new_round);
        check_action(scene, scene.act("b"), Action::wait);
        check_waiting(scene, {"a", "b"});
        CHECK(scene.state.round == 1);
        check_action(scene, scene.act("c"), Action::wait);
        CHECK(scene.state.round == 2);
        check_ranks(scene, {});
        scene.all_act({"a", "b", "c"});
        check_waiting(scene, {});
        check_ranks(scene, {"a", "b", "c"});
        check_action(scene, scene.act("c"), Action::done);
        CHECK(scene.views["c"].round == 2);
    });
}

inline void no_room_disturbs_nobody() {
    scene(nodes(1, 2), [](Scene& scene) {
        scene.all_act({"a", "b", "a"});
        check_action(scene, scene.act("c"), Action::wait);
        check_action(scene, scene.act("a", Wish::stay), Action::done);
        check_action(scene, scene.act("b", Wish::leave), Action::done);
        check_action(scene, scene.act("a", Wish::stay), Action::new_round);
        scene.all_act({"a", "a", "c"});
        check_ranks(scene, {"a", "c"});
    });
}

inline void leaving() {
    scene(nodes(1, 3), [](Scene& scene) {
        check_action(scene, scene.act("a", Wish::leave), Action::done);
        CHECK(scene.state == RendezvousState());
        scene.all_act({"a", "b", "c", "a"});
        scene.act("d");
        check_waiting(scene, {"d"});
        scene.act("d", Wish::leave);
        check_waiting(scene, {});
        check_action(scene, scene.act("a", Wish::stay), Action::done);
        scene.act("b", Wish::leave);
        check_members(scene, {"a", "c"});
        check_action(scene, scene.act("a", Wish::stay), Action::new_round);
        check_action(scene, scene.act("b", Wish::stay), Action::new_round);
        scene.act("c", Wish::leave);
        scene.act("a", Wish::leave);
        check_ranks(scene, {});
        CHECK(scene.state.round == 2);
    });
}

inline void dies_before_the_round() {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "a"});
        scene.pass(14s, {"a"});
        check_members(scene, {"a", "b"});
        scene.pass(1s, {"a"});
        check_members(scene, {"a"});
        scene.pass(60s, {"a"});
        check_ranks(scene, {});
        scene.act("c");
        scene.pass(30s, {"a", "c"});
        check_ranks(scene, {"a", "c"});
    });
}

inline void dies_in_a_round() {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.act("c");
        scene.pass(1s, {"c"});
        scene.act("a");  // and dies
        scene.pass(7s, {"c"});
        scene.act("b");
        scene.pass(2s, {"c"});
        scene.act("d");
        scene.pass(7s, {"c", "d"});
        check_members(scene, {"b", "c", "d"});
        check_action(scene, scene.act("b"), Action::done);  // it has not looked for 9 s
        check_ranks(scene, {"a", "b", "c", "d"});
        for (const std::string name : {"b", "c", "d"}) {
            check_action(scene, scene.act(name, Wish::stay), Action::new_round);
        }
    });
    scene(nodes(2, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "b"});
        scene.pass(15s, {"b"});
        check_members(scene, {"b"});  // the others were slow
        check_action(scene, scene.act("b", Wish::stay), Action::new_round);
        check_ranks(scene, {"a", "b", "c"});
        check_action(scene, scene.act("a"), Action::wait);
        check_action(scene, scene.act("c"), Action::wait);
        scene.act("b");
        CHECK(scene.state.round == 2);
        scene.all_act({"b", "c"});
        scene.pass(31s, {"b", "c"});
        check_ranks(scene, {"b", "c"});
    });
}

inline void dies_while_it_waits() {
    scene(nodes(1, 2), [](Scene& scene) {
        scene.all_act({"a", "b", "a"});
        scene.all_act({"c", "a"});
        scene.pass(14s, {"a", "b"});
        check_waiting(scene, {"c"});
        scene.pass(1s, {"a", "b"});
        check_waiting(scene, {});
        check_action(scene, scene.act("b", Wish::leave), Action::done);
        check_members(scene, {"a"});
    });
}

inline void gives_up() {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.act("a");
        scene.pass(599s, {"a"});
        check_action(scene, scene.look("a"), Action::wait);
        scene.now += 1s;
        check_action(scene, scene.act("a"), Action::timed_out);
        check_members(scene, {});
    });
    scene(nodes(2, 2), [](Scene& scene) {
        scene.act("a");
        scene.pass(598s, {"a"});
        scene.act("b");
        scene.now += 4s;
        check_action(scene, scene.act("a"), Action::done);
        check_action(scene, scene.act("c"), Action::wait);
        scene.pass(600s, {"a", "b", "c"});
        check_waiting(scene, {});
        check_action(scene, scene.act("a", Wish::stay), Action::done);
    });
}

inline void is_closed() {
    scene(nodes(1, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "a"});
        scene.act("d");
        scene.act("a", Wish::close);
        check_waiting(scene, {});
        CHECK(scene.state.closed);
        check_action(scene, scene.act("d"), Action::closed);
        check_action(scene, scene.act("a", Wish::stay), Action::done);
        check_action(scene, scene.act("a", Wish::join), Action::closed);
        check_action(scene, scene.act("b"), Action::closed);  // it has not seen the round yet
        check_members(scene, {"a", "b", "c"});
        for (const std::string name : {"a", "b", "c"}) {
            scene.act(name, Wish::leave);
        }
        CHECK(scene.state.round == 2);
        check_action(scene, scene.act("a"), Action::closed);
    });
    scene(nodes(3, 3), [](Scene& scene) {
        scene.all_act({"a", "b"});
        check_action(scene, scene.act("c", Wish::close), Action::done);
        check_members(scene, {"a", "b"});
        check_action(scene, scene.act("a"), Action::closed);
        check_members(scene, {"a", "b"});
    });
}

}  // namespace dist::harness
