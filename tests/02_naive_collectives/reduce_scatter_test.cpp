// reduce_scatter: chunk r of the reduction on rank r, through rank 0.
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

#include "tests/harness/words/chunks.hpp"
#include "tests/harness/words/reductions.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "reduce_scatter is to be built from reduce and scatter");

Buffers before(const Call& call, const Communicator& comm) {
    return {contribution(call, comm).data, poison(chunk_of(call.n, comm).size())};
}

/// What the likely mistakes leave of this rank's chunk.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const Chunk chunk = chunk_of(call.n, comm);
    std::vector<Suspicion> known = reduction_mistakes(call, comm.size());
    known.push_back({contribution(call, comm).data, "that is this rank's own contribution"});
    known.push_back(
        {input(call.n, 0, call.salt, call.values),
         "that is rank 0's contribution: scatter the result"}
    );
    for (Suspicion& suspicion : known) {
        suspicion.values = part(suspicion.values, chunk);
    }
    known.push_back(
        {reduction(call, comm.size()),
         "that is the beginning of the result: this rank gets its chunk"}
    );
    return known;
}

Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    if (b.data != contribution(call, comm).data) {
        return {false, "in has changed: reduce writes into its data on the root, give it a copy"};
    }
    return same(
        b.out, part(reduction(call, comm.size()), chunk_of(call.n, comm)),
        tolerance(call.op, comm.size()), mistakes(call, comm)
    );
}

const Attempt kAttempt{
    .name = "reduce_scatter",
    .takes = {.op = true},
    .before = before,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { reduce_scatter(b.data, b.out, call.op, comm); },
    .outcome = outcome,
    .note = [](const Call& call, const Communicator& comm
            ) { return "this rank gets " + text_of(chunk_of(call.n, comm)); }};

Cost through_rank_0(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    const long n_bytes = float_bytes(call.n);
    const long own_bytes = float_bytes(chunk_of(call.n, comm).size());
    // an empty message from reduce need not be sent
    const auto to_rank_0 = [&](long messages) {
        return call.n == 0 ? at_most(messages) : exactly(messages);
    };
    if (comm.rank() == 0) {
        return {
            .messages_sent = exactly(others),
            .bytes_sent = exactly(n_bytes - own_bytes),
            .messages_received = to_rank_0(others),
            .bytes_received = exactly(others * n_bytes),
            .rounds = at_most(2 * others)};
    }
    return {
        .messages_sent = to_rank_0(1),
        .bytes_sent = exactly(n_bytes),
        .messages_received = exactly(1),
        .bytes_received = exactly(own_bytes),
        .rounds = at_most(2 * others),
        .partners = std::set{0}};
}

}  // namespace

TEST_CASE("reduce_scatter gives rank r chunk r of the sum, and leaves in as it was") {
    every_length(kAttempt);
}

TEST_CASE("reduce_scatter combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("reduce_scatter sends every message from or to rank 0: n floats to it, a chunk back") {
    costs(
        kAttempt, through_rank_0,
        "Reduce to rank 0, n floats from each, then scatter from rank 0, a chunk to each. Anything "
        "else is another algorithm."
    );
}

TEST_CASE("reduce_scatter refuses an out that is not as long as the only chunk") {
    refuses_lengths(kAttempt, &Buffers::out, {0}, {1});
}

TEST_CASE("reduce_scatter notices on every other rank that out is not as long as its chunk") {
    notices_lengths(
        kAttempt, &Buffers::out, Meets::at_that_rank, {2, 3}, {kError, kInvalidArgument}
    );
}

TEST_CASE("reduce_scatter can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("reduce_scatter stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("reduce_scatter throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("reduce_scatter is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
