// rendezvous: who is in, and as which rank. First what a node decides, look by look; then all
// orders of all looks of a few nodes; then the loop, on a store, in threads that go on one at a
// time. No test waits.
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_loop.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_scene.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Runs what is written with a Scene.
void scene(const RendezvousSettings& settings, const std::function<void(Scene&)>& body) {
    on_ranks({1}, [&](const Communicator&) {
        Scene scene(settings);
        body(scene);
    });
}

void check_action(Scene& scene, Action got, Action expected) {
    INFO(scene.text());
    const Comparison result = {
        got == expected, "expected " + text_of(expected) + ", got " + text_of(got)};
    CHECK(result);
}

void check_names(
    const Scene& scene, const std::string& what, const Names& got, const Names& expected
) {
    INFO(scene.text());
    const Comparison result = {
        got == expected, what + ": expected " + text_of(expected) + ", got " + text_of(got)};
    CHECK(result);
}

void check_members(const Scene& scene, const Names& expected) {
    check_names(scene, "members", names_of(scene.state.members), expected);
}

void check_waiting(const Scene& scene, const Names& expected) {
    check_names(scene, "waiting", names_of(scene.state.waiting), expected);
}

void check_ranks(const Scene& scene, const Names& expected) {
    check_names(scene, "ranks", scene.state.ranks, expected);
}

/// Runs what rendezvous_loop.hpp has.
void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

}  // namespace

TEST_CASE("decide: a node joins with one write, and waits while there are fewer than min_nodes") {
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

TEST_CASE("decide: a round is complete at once when max_nodes are members") {
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

TEST_CASE("decide: ranks are by sorted name, whatever the order of arrival, at max_nodes and before"
) {
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

TEST_CASE(
    "decide: when min_nodes have been there for a last call, the round is complete, not before"
) {
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

TEST_CASE("decide: one node alone is a round where min_nodes is 1, after the last call") {
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

TEST_CASE("decide: who joins during the last call is in, and does not extend it") {
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

TEST_CASE("decide: fewer than min_nodes end the last call, and the next one takes its whole time") {
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

TEST_CASE("decide: who comes late waits, and is in the next round, when all have left the last") {
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

TEST_CASE(
    "decide: who comes when there is no room disturbs nobody, until one of the others has gone"
) {
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

TEST_CASE("decide: who leaves is off both lists, and the round of those that are left holds no more"
) {
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

TEST_CASE("decide: a node that dies before the round is complete goes, and is not counted") {
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

TEST_CASE(
    "decide: a node that dies in a round ends it, and those that have not looked yet get the same "
    "ranks"
) {
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

TEST_CASE("decide: a waiting node that dies goes as well") {
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

TEST_CASE("decide: a heartbeat counts one up every 5 s, for members and for those that wait") {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.act("a");
        scene.act("b");
        const std::int64_t member = scene.state.members["a"];
        const std::int64_t waiting = scene.state.waiting["b"];
        INFO("the first count: " << member << " and " << waiting);
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

TEST_CASE("decide: a node never takes itself for dead, however long ago it has looked") {
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

TEST_CASE(
    "decide: no count of a node comes twice, whether it goes to another list, or leaves and comes "
    "back"
) {
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

TEST_CASE(
    "decide: past its deadline a node is off the list before it gives up; a round that holds it "
    "comes first"
) {
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

TEST_CASE("decide: a closed rendezvous has no more rounds, and leaves those that are in one alone"
) {
    scene(nodes(1, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "a"});
        scene.act("d");
        scene.act("a", Wish::close);
        check_waiting(scene, {});
        CHECK(scene.state.closed);
        check_action(scene, scene.act("d"), Action::closed);
        check_action(scene, scene.act("a", Wish::stay), Action::done);
        check_action(scene, scene.act("a", Wish::join), Action::closed);
        check_members(scene, {"a", "b", "c"});
    });
}

TEST_CASE("observe: clocks that differ by days do no harm, and the sender's is not asked") {
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

TEST_CASE("observe: a clock that jumps, or a machine that stood still, makes nobody look dead") {
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

TEST_CASE(
    "observe: own time goes on by 0 to one heartbeat a look, and counts are noted when they change"
) {
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

TEST_CASE("observe and decide: the same arguments have the same result, whatever was decided before"
) {
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
            CHECK(!(first.state == other.state));  // b is dead
            CHECK(observe(view, other.state, 101s) == observe(view, other.state, 101s));
        }
    });
}

TEST_CASE("every order: whatever two or three nodes do, a round has one set of ranks, and one comes"
) {
    struct Case {
        int min;
        int max;
        Names names;
        int deaths;
        Walk::Move move;
    };
    const std::vector<Case> cases = {
        {1, 1, {"a", "b"}, 1, Walk::Move::look},
        {1, 2, {"a", "b"}, 1, Walk::Move::look},
        {2, 2, {"a", "b"}, 0, Walk::Move::look},
        {2, 2, {"a", "b", "c"}, 1, Walk::Move::turn},
    };
    on_ranks_each(
        {1}, [&](int) { return cases.size(); },
        [&](const Communicator& comm, std::size_t number) {
            const auto& [min, max, names, deaths, move] = cases[number];
            INFO(
                names.size() << " nodes, of which " << deaths << " may die; min_nodes " << min
                             << ", max_nodes " << max
            );
            const auto goes_on = [&] {
                same_on_all_ranks({}, comm);
            };  // a gate: the harness sees it move
            const Comparison result = Walk(min, max, names, deaths, move).all(goes_on);
            CHECK(result);
        }
    );
}

TEST_CASE("Rendezvous: three nodes find each other in every order of their calls, round after round"
) {
    on_one_rank(every_order_of_calls);
}

TEST_CASE("Rendezvous: it changes its one key by compare_set alone, and waits by the clock for poll"
) {
    on_one_rank(one_key);
}

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew: join") {
    on_one_rank(lost_join);
}

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew: giving up") {
    on_one_rank(lost_giving_up);
}

TEST_CASE("Rendezvous: who comes late is in the next round, and who has died is not") {
    on_one_rank(late_and_dead);
}

TEST_CASE(
    "Rendezvous: a node that stood still for a minute finds that its round holds no more, and "
    "joins the next"
) {
    on_one_rank(stood_still);
}

TEST_CASE(
    "Rendezvous: without enough nodes Timeout comes after join_timeout, and leaves nobody behind"
) {
    on_one_rank(not_enough);
}

TEST_CASE("Rendezvous: next_round has its whole time each time, and a join can be tried again") {
    on_one_rank(whole_time);
}

TEST_CASE(
    "Rendezvous: close ends it for those that wait and those that come, and not for those that are "
    "in a round"
) {
    on_one_rank(closed_for_good);
}

TEST_CASE(
    "Rendezvous: stay and leave say and do what holds before, in and after a round, and wait for "
    "nothing"
) {
    on_one_rank(stay_and_leave);
}

TEST_CASE("Rendezvous: two of them in one store, with keys of their own, know nothing of each other"
) {
    on_one_rank(two_keys);
}

TEST_CASE("Rendezvous: four threads on the machine's own clock find each other, round after round"
) {
    on_one_rank(real_clock);
}

TEST_CASE("Rendezvous: it refuses numbers of nodes and times that make no sense") {
    on_one_rank(refusals);
}

TEST_CASE("Rendezvous: what the store throws comes out, and the next call goes on") {
    on_one_rank(store_fails);
}
