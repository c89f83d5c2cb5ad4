// broadcast: the root's data on every rank, one message from the root to each of the others.
#include "exercises/02_naive_collectives/broadcast.hpp"

#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "broadcast is to be built from send and recv");

/// The root has its data, the others nothing of use.
Buffers before(const Call& call, const Communicator& comm) {
    return {comm.rank() == call.root ? input(call.n, call.root, call.salt) : poison(call.n)};
}

const Attempt kAttempt{
    .name = "broadcast",
    .takes = {.root = true},
    .before = before,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { broadcast(b.data, call.root, comm); },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& /*comm*/
               ) { return same(b.data, input(call.n, call.root, call.salt)); }};

Cost one_message_each(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    // nothing need not be sent
    const auto count = [&](long messages) {
        return call.n == 0 ? at_most(messages) : exactly(messages);
    };
    if (comm.rank() == call.root) {
        return {
            .messages_sent = count(others),
            .bytes_sent = exactly(others * float_bytes(call.n)),
            .messages_received = exactly(0)};
    }
    return {
        .messages_sent = exactly(0),
        .messages_received = count(1),
        .bytes_received = exactly(float_bytes(call.n))};
}

}  // namespace

TEST_CASE("broadcast gives every rank the root's data, from every root") {
    every_length(kAttempt);
}

TEST_CASE("broadcast sends one message to each rank, all of them from the root") {
    costs(
        kAttempt, one_message_each,
        "The root is the only one that sends, and it sends to each of the others once. A rank that "
        "passes the data on is another algorithm."
    );
}

TEST_CASE("broadcast refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("broadcast can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("broadcast stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("broadcast throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("broadcast is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
