// What an agent must do: calls there and back, in any order, nested, and what becomes of them when something goes wrong.
// Ranks are threads of a virtual time, then ranks of MPI, then processes of which one is killed.
#include "exercises/09_rpc/rpc.hpp"

#include "tests/09_rpc/rpc_calls.hpp"
#include "tests/09_rpc/rpc_ends.hpp"
#include "tests/09_rpc/rpc_errors.hpp"
#include "tests/09_rpc/rpc_messages.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("rpc: sync and async calls bring what the function returns, from each rank to each") {
    with_seeds(values);
}

TEST_CASE("rpc: a call to oneself takes no message, and runs while the rank waits") {
    with_seeds(calls_itself);
}

TEST_CASE("rpc: functions call their callers back, and all ranks each other at the same time") {
    with_seeds(nests);
}

TEST_CASE("rpc: answers come in any order, and reach their own callers") {
    with_seeds(any_order);
}

TEST_CASE("rpc: what one rank calls on another begins there in the order of its calls") {
    with_seeds(in_order);
}

TEST_CASE("rpc: two agents on one transport have groups of their own, and do not mix") {
    with_seeds(two_agents);
}

TEST_CASE("rpc: a call costs a message there and one back, and one more each if it is long") {
    with_seeds(one_message_each);
}

TEST_CASE("rpc: 100 MB go there, and come back") {
    on_ranks({1}, [](const Communicator&) { hundred_megabytes(); });
}

TEST_CASE("rpc: arguments are copied when the call begins") {
    with_seeds(arguments_are_copied);
}

TEST_CASE("rpc: a rank that serves in shutdown() sends nothing but its answers") {
    with_seeds(no_more_in_shutdown);
}

TEST_CASE("rpc: an answer that comes at once is not slept away") {
    with_seeds(takes_no_time);
}

TEST_CASE("rpc: what a function throws is thrown here, with where it was thrown first") {
    with_seeds(errors);
}

TEST_CASE("rpc: a call ends at its own deadline, or at the default of when it began") {
    with_seeds(deadlines);
}

TEST_CASE("rpc: without a word on it the deadline is 60 s") {
    with_seeds(default_deadline);
}

TEST_CASE("rpc: an answer that is there at the deadline counts") {
    with_seeds(looks_first);
}

TEST_CASE("rpc: an answer that comes too late is dropped, and disturbs no other call") {
    with_seeds(late_answers);
}

TEST_CASE("rpc: a rank that has died fails all calls to it at once, and no others") {
    with_seeds(dead_callee);
}

TEST_CASE("rpc: a caller that has died disturbs nobody") {
    with_seeds(dead_caller);
}

TEST_CASE("rpc: a rank that dies while it answers leaves its answer or an Error") {
    with_seeds(dies_as_it_answers);
}

TEST_CASE("rpc: a function of a name that is taken, and a rank that is not there, are refused") {
    with_seeds(harness::refuses);
}

TEST_CASE("rpc: a call is answered once") {
    with_seeds(answers_once);
}

TEST_CASE("rpc: shutdown() serves until the last rank has come") {
    with_seeds(waits_for_the_last);
}

TEST_CASE("rpc: shutdown() waits for calls that functions begin and do not wait for") {
    with_seeds(waits_for_what_functions_call);
    with_seeds([](std::uint64_t seed) { waits_for_all(seed, false); });
}

TEST_CASE("rpc: shutdown() waits for no rank that has died") {
    with_seeds(waits_for_no_dead);
    with_seeds([](std::uint64_t seed) { waits_for_all(seed, true); });
}

TEST_CASE("rpc: shutdown(false) ends at once, and serves nobody") {
    with_seeds(leaves_at_once);
}

TEST_CASE("rpc: after shutdown() calls are refused, and a late reply does nothing") {
    with_seeds(refuses_after_the_end);
}

TEST_CASE("rpc on ranks of MPI: calls there and back cost two messages each") {
    on_ranks({2, 3, 1, 4}, counts_on_mpi);
}

TEST_CASE("rpc on processes: long calls, nested; then one is killed, and the others go on") {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(
            3, [](Transport& transport, int rank, int) { survives_a_kill(transport, rank); }, {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
