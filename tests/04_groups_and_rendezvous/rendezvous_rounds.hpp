// Who is in a round, and when it is complete: what nodes decide, look by look. See
// rendezvous_test.cpp.
#pragma once

#include <algorithm>
#include <string>

#include "tests/04_groups_and_rendezvous/rendezvous_checks.hpp"

namespace dist::harness {

inline void joins_with_one_write() {
    scene(nodes(2, 3), [](Scene& scene) {
        check_action(scene, scene.look("a"), Action::write);
        check_members(scene, {"a"});
        check_action(scene, scene.look("a"), Action::wait);
        scene.pass(100s, {"a"});
        check_action(scene, scene.look("a"), Action::wait);
        check_members(scene, {"a"});
        check_ranks(scene, {});
        CHECK(scene.state.last_call == 0);
    });
}

inline void is_complete_at_max_nodes() {
    scene(nodes(1, 3), [](Scene& scene) {
        scene.all_act({"c", "a"});
        check_ranks(scene, {});
        check_action(scene, scene.look("b"), Action::write);
        check_ranks(scene, {"a", "b", "c"});
        for (const std::string name : {"a", "b", "c"}) {
            check_action(scene, scene.look(name), Action::done);
        }
        CHECK(scene.state.round == 1);
    });
}

inline void ranks_by_sorted_name() {
    on_ranks({1}, [](const Communicator&) {
        Names arrivals = {"node1", "node10", "node2"};
        const Names sorted = arrivals;
        do {
            INFO("they come in the order " << text_of(arrivals));
            const Names at_max = ranks_of(nodes(1, 3), arrivals);
            const Names before = ranks_of(nodes(2, 5), arrivals);
            INFO(
                "ranks at max_nodes: " << text_of(at_max)
                                       << "; when the last call is over: " << text_of(before)
            );
            CHECK(at_max == sorted);
            CHECK(before == sorted);
        } while (std::next_permutation(arrivals.begin(), arrivals.end()));
    });
}

inline void is_complete_after_the_last_call() {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.act("b");
        scene.pass(7s, {"b"});
        scene.act("a");  // the last call begins
        CHECK(scene.state.last_call == 1);
        scene.pass(29s, {"a", "b"});
        check_ranks(scene, {});
        scene.now += 1s;
        check_action(
            scene, scene.act("b"), Action::wait
        );  // it saw the last call begin at second 8
        check_action(scene, scene.act("a"), Action::done);
        check_ranks(scene, {"a", "b"});
        check_action(scene, scene.act("b"), Action::done);
    });
}

inline void one_node_is_a_round() {
    scene(nodes(1, 2), [](Scene& scene) {
        scene.pass(30s, {"a"});
        check_ranks(scene, {});
        scene.pass(2s, {"a"});
        check_ranks(scene, {"a"});
    });
    scene(nodes(1, 1), [](Scene& scene) {
        check_action(scene, scene.act("a"), Action::done);
        check_ranks(scene, {"a"});
    });
}

inline void last_call_is_not_extended() {
    scene(nodes(2, 5), [](Scene& scene) {
        scene.all_act({"a", "b"});
        scene.pass(20s, {"a", "b"});
        scene.act("c");
        scene.pass(8s, {"a", "b", "c"});
        scene.act("d");
        scene.pass(1s, {"a", "b", "c", "d"});
        check_ranks(scene, {});
        scene.pass(1s, {"a", "b", "c", "d"});
        check_ranks(scene, {"a", "b", "c", "d"});
        CHECK(scene.state.last_call == 1);
    });
}

inline void last_call_begins_anew() {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.all_act({"a", "b"});
        scene.pass(20s, {"a", "b"});
        scene.act("b", Wish::leave);
        scene.act("c");  // before "a" has looked again
        scene.pass(29s, {"a", "c"});
        check_ranks(scene, {});
        scene.pass(1s, {"a", "c"});
        check_ranks(scene, {"a", "c"});
    });
    scene(nodes(3, 4), [](Scene& scene) {
        scene.all_act({"a", "b", "c"});
        scene.act("b", Wish::leave);
        scene.pass(100s, {"a", "c"});
        check_ranks(scene, {});
    });
}

}  // namespace dist::harness
