// all_reduce: everyone's data combined, the same result for all, every message from or to rank 0.
#include "exercises/02_naive_collectives/all_reduce.hpp"

#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_reduce is to be built from send, recv and broadcast");

/// What likely mistakes leave on this rank, and the sentence for each.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const auto so_far = arc(p, 0, comm.rank() + 1);
    const auto all = reduction(call, p);
    auto twice = all;
    accumulate(all, twice, ReduceOp::sum);
    std::vector<Suspicion> known = {
        {contribution(call, comm).data, "that is this rank's own contribution: nothing came in"},
        {input(call.n, 0, call.salt, call.values), "that is rank 0's contribution alone"},
        {partial(call, so_far), "that is what " + alone(so_far) +
                                    " would give: as if the result was sent before everybody had "
                                    "contributed"},
        {twice,
         "that is the result twice, as if it was added to that of a call before: nothing may be "
         "left of an earlier call"}};
    const auto of_any_reduction = reduction_mistakes(call, p);
    known.insert(known.begin() + 2, of_any_reduction.begin(), of_any_reduction.end());
    return known;
}

const Attempt kAttempt{
    .name = "all_reduce",
    .takes = {.op = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { all_reduce(b.data, call.op, comm); },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return reduced(b.data, call, comm, mistakes); }};

Cost through_rank_0(const Call& call, const Communicator& comm) {
    const bool root = comm.rank() == 0;
    const long count = root ? comm.size() - 1 : 1;
    // nothing need not be sent
    const Bound messages = call.n == 0 ? at_most(count) : exactly(count);
    return {
        .messages_sent = messages,
        .bytes_sent = exactly(count * float_bytes(call.n)),
        .messages_received = messages,
        .bytes_received = exactly(count * float_bytes(call.n)),
        .rounds = at_most(2L * (comm.size() - 1)),
        .partners = root || call.n == 0 ? std::nullopt : std::optional(std::set{0})};
}

}  // namespace

TEST_CASE("all_reduce gives every rank the sum over all ranks") {
    every_length(kAttempt);
}

TEST_CASE("all_reduce combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("all_reduce can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("all_reduce leaves the same bits on every rank") {
    same_bits(kAttempt, "Rank 0 has the result, and all others copy its bits.");
}

TEST_CASE("all_reduce sends every message from or to rank 0: p - 1 to it, p - 1 back") {
    costs(
        kAttempt, through_rank_0,
        "Every other rank sends its data to rank 0 and gets the result from there, whole, in one "
        "message each."
    );
}

TEST_CASE("all_reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("all_reduce throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("all_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
