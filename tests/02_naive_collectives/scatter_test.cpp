// scatter: chunk i of the root's data on rank i, one message from the root to each of the others.
#include "exercises/02_naive_collectives/scatter.hpp"

#include "tests/harness/words/chunks.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "scatter is to be built from send and recv");

/// The root has its data, the others nothing at all: they know the length from out.
Buffers before(const Call& call, const Communicator& comm) {
    const std::size_t n = comm.rank() == call.root ? call.n : 0;
    return {labels(n, call.root, call.salt), poison(chunk_of(call.n, comm).size())};
}

Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    const Chunk chunk = chunk_of(call.n, comm);
    const Comparison own = same_labels(b.out, labels(chunk.begin, chunk.end, call.root, call.salt));
    return own ? same_labels(b.data, before(call, comm).data) : own;
}

std::string note(const Call& call, const Communicator& comm) {
    return "chunk_bounds gives this rank " + text_of(chunk_of(call.n, comm));
}

const Attempt kAttempt{
    .name = "scatter",
    .takes = {.root = true},
    .before = before,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { scatter(b.data, b.out, call.root, comm); },
    .outcome = outcome,
    .note = note};

Cost a_chunk_each(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    const long own_bytes = float_bytes(chunk_of(call.n, comm).size());
    if (comm.rank() == call.root) {
        return {
            .messages_sent = exactly(others),
            .bytes_sent = exactly(float_bytes(call.n) - own_bytes),
            .messages_received = exactly(0),
            .rounds = at_most(others)};
    }
    return {
        .messages_sent = exactly(0),
        .messages_received = exactly(1),
        .bytes_received = exactly(own_bytes),
        .received_from = std::set{call.root}};
}

}  // namespace

TEST_CASE("scatter gives rank i chunk i, whichever rank is the root") {
    every_call(kAttempt, {{.n = 6, .root = 0}, {.n = 6, .root = 1}, {.n = 6, .root = 2}}, {3});
}

TEST_CASE("scatter gives every rank its chunk also where p does not divide n") {
    every_length(kAttempt);
}

TEST_CASE("scatter sends one message to each rank, and each carries that rank's chunk alone") {
    costs(
        kAttempt, a_chunk_each,
        "Only the root sends: to each of the others its chunk, also an empty one."
    );
}

TEST_CASE("scatter refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("scatter refuses an out that is not as long as the root's own chunk") {
    refuses_lengths(kAttempt, &Buffers::out);
}

TEST_CASE("scatter notices on every other rank that out is not as long as the chunk that comes") {
    notices_lengths(kAttempt, &Buffers::out, Meets::at_that_rank, {2, 3});
}

TEST_CASE("scatter can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("scatter stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("scatter throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("scatter is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
