// What actors on a mesh must do, whoever calls, fails or dies. Ranks are threads of a virtual time
// (actor_network.hpp); actors keep diaries, which show what they have handled (actor_scene.hpp).
#include "exercises/09_rpc/actor_mesh.hpp"

#include "tests/09_rpc/actor_calls.hpp"
#include "tests/09_rpc/actor_lives.hpp"
#include "tests/09_rpc/actor_restarts.hpp"
#include "tests/09_rpc/actor_waits.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("actor_mesh: a call goes to all actors, to a slice or to one, and to no other") {
    on_one_rank(calls_reach);
}

TEST_CASE("actor_mesh costs a request and an answer an actor, and the time of one of each") {
    on_one_rank(costs);
}

TEST_CASE("actor_mesh: a failed actor is one error that names it, and no other answer is lost") {
    on_one_rank(failures_are_named);
}

TEST_CASE("actor_mesh: a failed actor handles nothing more, and says why it has failed") {
    on_one_rank(stays_failed);
}

TEST_CASE("actor_mesh: what was queued when an actor fails is answered, and not handled") {
    on_one_rank(fails_with_a_queue);
}

TEST_CASE("actor_mesh: an actor handles one message at a time, in the order of its caller") {
    with_seeds(3, one_at_a_time);
}

TEST_CASE("actor_mesh: whoever calls whom, each message is handled once, whole and in order") {
    with_seeds(15, lives_of_actors);
}

TEST_CASE("actor_mesh: while an actor waits, others of its rank handle messages") {
    with_seeds(3, ranks_go_on);
}

TEST_CASE("actor_mesh: an actor that calls itself, also through others, is told of the deadlock") {
    with_seeds(2, calls_itself);
}

TEST_CASE("actor_mesh: who calls an actor that waits further down on its rank is told as well") {
    with_seeds(2, waits_further_down);
}

TEST_CASE("actor_mesh: who calls an actor whose snapshot is on its way gets an answer") {
    with_seeds(2, calls_one_that_saves);
}

TEST_CASE("actor_mesh: a restarted actor goes on from its last snapshot") {
    on_one_rank(goes_on_from_the_snapshot);
}

TEST_CASE("actor_mesh: without a snapshot an actor begins anew, on its own rank only") {
    on_one_rank(without_a_snapshot);
}

TEST_CASE("actor_mesh: snapshot() is a message like others, and takes its turn") {
    on_one_rank(snapshot_takes_its_turn);
}

TEST_CASE("actor_mesh: restart() leaves an actor alone that has not failed") {
    on_one_rank(restart_of_a_good_one);
}

TEST_CASE("actor_mesh: an actor that cannot be made has failed, until it can") {
    on_one_rank(cannot_be_made);
}

TEST_CASE("actor_mesh: a rank dies, and its actor goes on elsewhere, where all find it") {
    on_one_rank(goes_on_elsewhere);
}

TEST_CASE("actor_mesh: a snapshot lies with the next rank that lives") {
    on_one_rank(dead_peers);
}

TEST_CASE(
    "actor_mesh: with a snapshot after each message no answered one is lost, whenever a rank dies"
) {
    on_one_rank(dies_at_any_time);
}

TEST_CASE("actor_mesh: it refuses names and slices that are not there, before any message") {
    on_one_rank(refusals_of_a_mesh);
}
