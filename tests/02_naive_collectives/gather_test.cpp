// gather: everyone's chunk on the root, in rank order, one message from each of the others to it.
#include "exercises/02_naive_collectives/gather.hpp"

#include "tests/harness/words/chunks.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "gather is to be built from send and recv");

Buffers before(const Call& call, const Communicator& comm) {
    return {chunk_to_give(call, comm.rank(), comm.size()), poison(call.n)};
}

/// Whether the root holds all chunks in order, and no other rank's out was touched.
Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    if (comm.rank() != call.root) {
        return untouched(b.out, "only the root's out is");
    }
    const Comparison all = same_labels(b.out, all_chunks(call, comm.size()));
    return all ? same_labels(b.data, before(call, comm).data) : all;
}

const Attempt kAttempt{
    .name = "gather",
    .takes = {.root = true},
    .before = before,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { gather(b.data, b.out, call.root, comm); },
    .outcome = outcome,
    .note =
        [](const Call& /*call*/, const Communicator& /*comm*/) {
            return "chunk_bounds says where each rank's chunk begins in the root's out";
        }};

Cost a_chunk_each(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    const long own_bytes = float_bytes(chunk_of(call.n, comm).size());
    if (comm.rank() == call.root) {
        return {
            .messages_sent = exactly(0),
            .messages_received = exactly(others),
            .bytes_received = exactly(float_bytes(call.n) - own_bytes),
            .rounds = at_most(others)};
    }
    return {
        .messages_sent = exactly(1),
        .bytes_sent = exactly(own_bytes),
        .messages_received = exactly(0),
        .sent_to = std::set{call.root}};
}

}  // namespace

TEST_CASE("gather puts every rank's chunk in its place on the root, for every root") {
    every_length(kAttempt);
}

TEST_CASE("gather needs no out on the ranks that are not the root") {
    Attempt without_out = kAttempt;
    without_out.before = [](const Call& call, const Communicator& comm) {
        Buffers buffers = before(call, comm);
        buffers.out.resize(comm.rank() == call.root ? call.n : 0);
        return buffers;
    };
    every_length(without_out, {3});
}

TEST_CASE("gather can be called twice in a row, also when one rank is late") {
    two_in_a_row(kAttempt);
}

TEST_CASE("gather sends one message from each rank, and each carries that rank's chunk alone") {
    costs(
        kAttempt, a_chunk_each,
        "Each rank sends its chunk to the root, also an empty one. Only the root receives; a rank "
        "that passes chunks on is another algorithm."
    );
}

TEST_CASE("gather refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("gather refuses an in that is not as long as the root's own chunk") {
    refuses_lengths(kAttempt, &Buffers::data);
}

TEST_CASE("gather notices on the root that a chunk has not the length it must have") {
    notices_lengths(kAttempt, &Buffers::data, Meets::at_the_root, {2});
}

TEST_CASE("gather stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("gather throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("gather is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
