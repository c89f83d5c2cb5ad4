// ring_all_reduce: the reduction on every rank, with a ring's traffic, and the same bits everywhere.
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from messages: the two halves of the ring are yours."
);

/// What the likely mistakes leave behind, most telling first.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    std::vector<Suspicion> known =
        call.op == ReduceOp::mean ? mean_mistakes_here(call, comm) : other_operations(call, p);
    const auto own = contribution(call, comm).data;
    known.push_back(
        {own, "that is this rank's own contribution: nothing was added, and no finished chunk came"}
    );
    auto own_again = own;
    for (int i = 1; i < p; ++i) {
        accumulate(own, own_again, call.op);
    }
    known.push_back(
        {own_again, "that is this rank's own contribution, " + std::to_string(p) +
                        " times: chunks were gathered before they were reduced"}
    );
    const auto all = partial(call, arc(p, 0, p));
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto some = partial(call, arc(p, first, k));
            known.push_back(
                {some, "that is what " + alone(arc(p, first, k)) + " would give, " +
                           std::to_string(k) + " of " + std::to_string(p) +
                           " contributions: as if it were a chunk of an earlier step that the "
                           "finished one has not replaced"}
            );
            auto added = all;
            accumulate(some, added, ReduceOp::sum);
            known.push_back(
                {added,
                 "that is more than the reduction: in the all-gather a finished chunk takes "
                 "the place of what was there, it is not added"}
            );
        }
    }
    return known;
}

const Attempt kAttempt{
    .name = "ring_all_reduce",
    .takes = {.op = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { ring_all_reduce(b.data, call.op, comm); },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return reduced(b.data, call, comm, mistakes); }};

Cost messages_of_a_ring(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const long messages = 2L * (p - 1);
    const long chunk = ceil_div(call.n, p);
    return {.messages_sent = at_most(messages), .bytes_sent = at_most(messages * 4 * chunk)};
}

Cost steps_of_a_ring(const Call& call, const Communicator& comm) {
    Cost cost{
        .rounds = ring_rounds(2L * (comm.size() - 1), comm.size()), .among = neighbours(comm)};
    if (call.n >= static_cast<std::size_t>(comm.size())) {  // an empty chunk need not be sent
        cost.partners = neighbours(comm);
    }
    return cost;
}

}  // namespace

TEST_CASE("ring_all_reduce sums every element over all ranks, for every length n") {
    every_length(kAttempt);
}

TEST_CASE("ring_all_reduce combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("ring_all_reduce keeps all ranks busy at the same time, each with its two neighbours") {
    costs(
        kAttempt, steps_of_a_ring,
        "Every rank talks to its neighbours on the ring, and to nobody else. Does one message go "
        "around while the other ranks wait for their turn?"
    );
}

TEST_CASE("ring_all_reduce sends at most 2(p-1) messages, and 2(p-1) chunks of ceil(n/p) floats") {
    costs(kAttempt, messages_of_a_ring, "Each message carries one chunk, never the whole tensor.");
}

TEST_CASE("ring_all_reduce leaves the same bits on every rank") {
    same_bits(kAttempt, "On a ring one rank finishes a chunk, and all others copy its bits.");
}

TEST_CASE("ring_all_reduce needs memory for two chunks at most, not for all of data") {
    holds_at_most(
        kAttempt,
        [](const Call& call, const Communicator& comm) {
            return 2 * 4 * ceil_div(call.n, comm.size());
        },
        "What comes in is one chunk: it is added to the one in data, and its place is free again."
    );
}

TEST_CASE("ring_all_reduce can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_all_reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_all_reduce throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_all_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
