// rendezvous: who is in, and as which rank. First what a node decides, look by look; then all
// orders of all looks of a few nodes; then the loop, on a store, in threads that go on one at a
// time, and on real stores.
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_beats.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_changes.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_lives.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_loop.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_rounds.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_stores.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Runs what rendezvous_loop.hpp and rendezvous_lives.hpp have.
void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

}  // namespace

TEST_CASE("decide: a node joins with one write, and waits while there are fewer than min_nodes") {
    joins_with_one_write();
}

TEST_CASE("decide: a round is complete at once when max_nodes are members") {
    is_complete_at_max_nodes();
}

TEST_CASE("decide: ranks are by sorted name, whatever the order of arrival, at max_nodes and before"
) {
    ranks_by_sorted_name();
}

TEST_CASE(
    "decide: when min_nodes have been there for a last call, the round is complete, not before"
) {
    is_complete_after_the_last_call();
}

TEST_CASE("decide: one node alone is a round where min_nodes is 1, after the last call") {
    one_node_is_a_round();
}

TEST_CASE("decide: who joins during the last call is in, and does not extend it") {
    last_call_is_not_extended();
}

TEST_CASE("decide: fewer than min_nodes end the last call, and the next one takes its whole time") {
    last_call_begins_anew();
}

TEST_CASE("decide: who comes late waits, and is in the next round, when all have left the last") {
    late_nodes_wait();
}

TEST_CASE(
    "decide: who comes when there is no room disturbs nobody, until one of the others has gone"
) {
    no_room_disturbs_nobody();
}

TEST_CASE("decide: who leaves is off both lists, and the round of those that are left holds no more"
) {
    leaving();
}

TEST_CASE("decide: a node that dies before the round is complete goes, and is not counted") {
    dies_before_the_round();
}

TEST_CASE(
    "decide: a node that dies in a round ends it, and those that have not looked yet get the same "
    "ranks"
) {
    dies_in_a_round();
}

TEST_CASE("decide: a waiting node that dies goes as well") {
    dies_while_it_waits();
}

TEST_CASE("decide: a heartbeat counts one up every 5 s, for members and for those that wait") {
    counts_up();
}

TEST_CASE("decide: a node never takes itself for dead, however long ago it has looked") {
    never_buries_itself();
}

TEST_CASE(
    "decide: no count of a node comes twice, whether it goes to another list, or leaves and comes "
    "back"
) {
    no_count_twice();
}

TEST_CASE(
    "decide: past its deadline a node is off the list before it gives up; a round that holds it "
    "comes first"
) {
    gives_up();
}

TEST_CASE("decide: a closed rendezvous has no more rounds, and leaves those that are in one alone"
) {
    is_closed();
}

TEST_CASE("observe: clocks that differ by days do no harm, and the sender's is not asked") {
    clocks_differ();
}

TEST_CASE("observe: a clock that jumps, or a machine that stood still, makes nobody look dead") {
    clocks_jump();
}

TEST_CASE(
    "observe: own time goes on by 0 to one heartbeat a look, and counts are noted when they change"
) {
    notes_counts();
}

TEST_CASE("observe and decide: the same arguments have the same result, whatever was decided before"
) {
    is_a_function();
}

TEST_CASE("every order: whatever two or three nodes do, a round has one set of ranks, and one comes"
) {
    const std::vector<Cast> casts = {
        {.min = 1, .max = 1, .names = {"a", "b"}, .deaths = 1},
        {.min = 1, .max = 2, .names = {"a", "b"}, .deaths = 1},
        {.min = 2, .max = 2, .names = {"a", "b"}},
        {.min = 2, .max = 2, .names = {"a", "b", "c"}, .deaths = 1, .move = Cast::Move::turn},
    };
    on_ranks_each(
        {1}, [&](int) { return casts.size(); },
        [&](const Communicator& comm, std::size_t number) {
            const Cast& cast = casts[number];
            INFO(
                cast.names.size() << " nodes, of which " << cast.deaths << " may die; min_nodes "
                                  << cast.min << ", max_nodes " << cast.max
            );
            const WalkLimits limits = {.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);  // a gate: the harness sees it move
                return true;
            }};
            const Comparison result = compared(walk(RendezvousGame(cast), limits));
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

TEST_CASE(
    "Rendezvous: it expects the text that it has decided by, not the one that stands there by now"
) {
    on_one_rank(lost_between_two_calls);
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

TEST_CASE(
    "Rendezvous: on the machine's own clock four threads find each other through a HashStore, and "
    "through a file"
) {
    finds_through_real_stores();
}

TEST_CASE("Rendezvous: it refuses numbers of nodes and times that make no sense") {
    on_one_rank(refusals);
}

TEST_CASE("Rendezvous: what the store throws comes out, and the next call goes on") {
    on_one_rank(store_fails);
}
