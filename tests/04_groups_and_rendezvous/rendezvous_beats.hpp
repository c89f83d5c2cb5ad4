// What a node notes of the others: their counts, and its own time, whatever clocks say. See
// rendezvous_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "tests/04_groups_and_rendezvous/rendezvous_checks.hpp"

namespace dist::harness {

inline void counts_up() {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.act("a");
        scene.act("b");
        const std::int64_t member = scene.state.members["a"];
        const std::int64_t waiting = scene.state.waiting["b"];
        INFO(
            "a is a member, and b waits; the first counts: " << member << " and " << waiting
                                                             << ", then 4, 5 and 30 s later"
        );
        CHECK(member == 1);
        CHECK(waiting == 1);
        scene.pass(4s, {"a", "b"});
        CHECK(scene.state.members["a"] == member);
        CHECK(scene.state.waiting["b"] == waiting);
        scene.pass(1s, {"a", "b"});
        CHECK(scene.state.members["a"] == member + 1);
        CHECK(scene.state.waiting["b"] == waiting + 1);
        scene.pass(25s, {"a", "b"});
        CHECK(scene.state.members["a"] == member + 6);
    });
}

inline void never_buries_itself() {
    RendezvousSettings slow = nodes(1, 1);
    slow.heartbeat = 10s;
    scene(slow, [](Scene& scene) {
        scene.act("a");
        for (int looks = 0; looks < 4; ++looks) {
            scene.now += 9s;
            check_action(scene, scene.act("a", Wish::stay), Action::done);
        }
    });
}

inline void no_count_twice() {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.act("a");
        scene.pass(12s, {"a"});
        CHECK(scene.state.members["a"] == 3);
        scene.act("b");
        scene.look("a", Wish::leave);
        CHECK(scene.state.round == 2);
        scene.all_act({"b", "b"});
        scene.act("a");
        CHECK(scene.state.waiting["a"] == 4);
        scene.act("b", Wish::leave);
        scene.act("a");
        CHECK(scene.state.members["a"] == 5);
    });
}

inline void clocks_differ() {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.skew = {{"a", 24h * 365}, {"b", -24h * 365}, {"c", 0h}};
        scene.all_act({"a", "b"});
        scene.pass(29s, {"a", "b"});
        check_members(scene, {"a", "b"});
        check_ranks(scene, {});
        scene.pass(1s, {"a", "b"});
        check_ranks(scene, {"a", "b"});
        scene.pass(60s, {"a", "b", "c"});
        check_ranks(scene, {"a", "b", "c"});
    });
}

inline void clocks_jump() {
    for (const Duration jump : {Duration(1h), Duration(-1h), Duration(24h * 365)}) {
        scene(nodes(3, 4), [&](Scene& scene) {
            INFO("the clock of a jumps by " << jump / 1s << " s");
            scene.all_act({"a", "b", "c"});
            scene.pass(9s, {"a", "b", "c"});
            scene.skew["a"] = jump;
            scene.act("a");
            check_members(scene, {"a", "b", "c"});
            check_ranks(scene, {});
            scene.pass(15s, {"a", "b"});
            check_members(scene, {"a", "b"});  // and who is dead is seen all the same
        });
    }
}

inline void notes_counts() {
    on_ranks({1}, [](const Communicator&) {
        NodeView view = {.name = "a", .settings = nodes(1, 2)};
        RendezvousState state;
        const auto look = [&](Duration now) { view = observe(view, state, now); };
        state.members = {{"b", 7}};
        look(100s);
        CHECK(view.time == 0s);
        CHECK(view.seen("b") == NodeView::Seen{7, 0s});
        look(102s);
        CHECK(view.time == 2s);
        CHECK(view.seen("b") == NodeView::Seen{7, 0s});
        state.members["b"] = 8;
        state.waiting["c"] = 1;
        state.last_call = 1;
        look(107s);
        CHECK(view.seen("b") == NodeView::Seen{8, 7s});
        CHECK(view.seen("c") == NodeView::Seen{1, 7s});
        CHECK(view.last_call == NodeView::Seen{1, 7s});
        state.members["b"] = 2;  // smaller, and another one: it lives
        look(200s);
        CHECK(view.time == 12s);
        CHECK(view.seen("b") == NodeView::Seen{2, 12s});
        look(150s);
        CHECK(view.time == 12s);
        look(151s);
        CHECK(view.time == 13s);
        CHECK(view.seen("d") == NodeView::Seen{});
    });
}

inline void is_a_function() {
    on_ranks({1}, [](const Communicator&) {
        RendezvousState state;
        state.members = {{"a", 3}, {"b", 4}};
        NodeView view = {.name = "a", .settings = nodes(2, 3), .deadline = 600s};
        view = observe(view, state, 100s);
        NodeView later = view;
        for (int look = 1; look <= 3; ++look) {
            later = observe(later, state, 100s + look * 5s);
        }
        for (const Wish wish : {Wish::join, Wish::stay, Wish::leave, Wish::close}) {
            const Decision first = decide(state, view, wish);
            const Decision other = decide(state, later, wish);
            const Decision again = decide(state, view, wish);
            const Decision other_again = decide(state, later, wish);
            INFO(
                "decided: " << text_of(first.state) << "; in between: " << text_of(other.state)
                            << "; then: " << text_of(again.state)
            );
            CHECK(first.state == again.state);
            CHECK(first.action == again.action);
            CHECK(other.state == other_again.state);
            INFO("in between, b had not counted up for 15 s: it goes, and a stays");
            CHECK(!(first.state == other.state));
            CHECK(observe(view, other.state, 101s) == observe(view, other.state, 101s));
        }
    });
}

}  // namespace dist::harness
