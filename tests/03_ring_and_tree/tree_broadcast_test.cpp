// tree_broadcast: the root's data on every rank, one message to each, in log2 p rounds.
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a broadcast from messages along a tree."
);

Comparison is_roots_data(const Buffers& b, const Call& call, const Communicator& comm) {
    Comparison result = same(b.data, input(call.n, call.root, call.salt));
    const int p = comm.size();
    const int place = (comm.rank() - call.root + p) % p;
    if (!result && place > 0) {
        const int d = floor_power(place);
        result.text += "; this is place " + std::to_string(place) + ", and place " +
                       std::to_string(place - d) + " sends to it in the round of distance " +
                       std::to_string(d);
    }
    return result;
}

const Attempt kAttempt{
    .name = "tree_broadcast",
    .takes = {.root = true},
    .before =
        [](const Call& call, const Communicator& comm) {
            return comm.rank() == call.root ? contribution(call, comm) : Buffers{poison(call.n)};
        },
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { tree_broadcast(b.data, call.root, comm); },
    .outcome = is_roots_data};

/// Nothing need be sent of a tensor without elements.
Cost one_message_to_each(const Call& call, const Communicator& comm) {
    const long in = comm.rank() == call.root ? 0 : 1;
    return {
        .messages_sent = at_most(ceil_log(comm.size())),
        .messages_received = {call.n == 0 ? 0 : in, in},
        .bytes_received = exactly(in * float_bytes(call.n))};
}

Cost rounds_of_a_tree(const Call&, const Communicator& comm) {
    return {.rounds = at_most(ceil_log(comm.size()))};
}

}  // namespace

TEST_CASE("tree_broadcast gives every rank the root's data, from every root, for every length n") {
    every_length(kAttempt, {3, 1, 2, 4, 5, 8});
}

TEST_CASE("tree_broadcast sends one message to each rank but the root") {
    costs(
        kAttempt, one_message_to_each,
        "There are log2 p rounds, rounded up, and a rank sends at most one message in each.",
        {4, 1, 2, 8, 3, 5}
    );
}

TEST_CASE("tree_broadcast is through after log2 p rounds, rounded up") {
    costs(
        kAttempt, rounds_of_a_tree,
        "In each round everyone who has the data sends it to one who has not.",
        {8, 1, 2, 4, 3, 5, 6, 7}
    );
}

TEST_CASE("tree_broadcast refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("tree_broadcast can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("tree_broadcast stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("tree_broadcast throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("tree_broadcast is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
