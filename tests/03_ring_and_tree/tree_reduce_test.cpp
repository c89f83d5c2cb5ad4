// tree_reduce: everyone's data combined on the root, one message from each, in log2 p rounds.
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/words/contributions.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a reduction from messages along a tree."
);

std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    return call.op == ReduceOp::mean ? mean_mistakes_here(call, comm)
                                     : other_operations(call, comm.size());
}

const Attempt kAttempt{
    .name = "tree_reduce",
    .takes = {.op = true, .root = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { tree_reduce(b.data, call.op, call.root, comm); },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator& comm) {
            return comm.rank() == call.root ? reduced(b.data, call, comm, mistakes)
                                            : same(b.data, contribution(call, comm).data);
        }};

/// Nothing need be sent of a tensor without elements.
Cost one_message_from_each(const Call& call, const Communicator& comm) {
    const long out = comm.rank() == call.root ? 0 : 1;
    return {
        .messages_sent = {call.n == 0 ? 0 : out, out},
        .bytes_sent = exactly(out * float_bytes(call.n)),
        .messages_received = at_most(ceil_log(comm.size()))};
}

Cost rounds_of_a_tree(const Call&, const Communicator& comm) {
    return {.rounds = rounds_within(ceil_log(comm.size()))};
}

}  // namespace

TEST_CASE("tree_reduce takes in every rank once, to every root, and keeps the others' data") {
    every_rank_once(
        kAttempt, {4, 1, 2, 8, 3, 5, 6, 7}, "Who sends, and in which round, to be in the sum?"
    );
}

TEST_CASE("tree_reduce works for every length and every operation") {
    every_length(kAttempt, {3, 1, 2, 4, 5, 8});
    every_operation(kAttempt, {3, 1, 2, 4, 5, 8});
}

TEST_CASE("tree_reduce sends one message from each rank but the root") {
    costs(
        kAttempt, one_message_from_each,
        "There are log2 p rounds, rounded up, and a rank receives at most one message in each.",
        {4, 1, 2, 8, 3, 5}
    );
}

TEST_CASE("tree_reduce is through after log2 p rounds, rounded up") {
    costs(
        kAttempt, rounds_of_a_tree,
        "In each round half of those that hold a partial result pass it on, all at once.",
        {8, 1, 2, 4, 3, 5, 6, 7}
    );
}

TEST_CASE("tree_reduce refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("tree_reduce can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("tree_reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("tree_reduce throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("tree_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
