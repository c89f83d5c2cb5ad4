// ring_shift: everyone sends right and receives left, and nobody waits for ever.
#include "exercises/01_point_to_point/ring_shift.hpp"

#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

int next_of(const Communicator& comm) {
    return (comm.rank() + 1) % comm.size();
}

int prev_of(const Communicator& comm) {
    return (comm.rank() + comm.size() - 1) % comm.size();
}

/// Long messages differ in length from rank to rank.
std::size_t length(const Call& call, int rank) {
    return call.n < 100 ? call.n : call.n + 3 * static_cast<std::size_t>(rank);
}

std::vector<float> message_of(const Call& call, int rank) {
    return input(length(call, rank), rank, call.salt);
}

/// Whether from_prev is the previous rank's message, and to_next is as it was.
Comparison shifted(const Buffers& b, const Call& call, const Communicator& comm) {
    const auto own = message_of(call, comm.rank());
    if (const Comparison kept = same(b.data, own); !kept) {
        return {false, "to_next was changed: " + kept.text};
    }
    return same(
        b.out, message_of(call, prev_of(comm)), 0,
        {{own, "that is this rank's own message"},
         {message_of(call, next_of(comm)), "that is the next rank's message: it went left"}}
    );
}

const Attempt kAttempt{
    .name = "ring_shift",
    .before =
        [](const Call& call, const Communicator& comm) {
            return Buffers{message_of(call, comm.rank()), poison(length(call, prev_of(comm)))};
        },
    .call = [](Buffers& b, const Call& /*call*/, const Communicator& comm
            ) { ring_shift(b.data, b.out, comm); },
    .outcome = shifted};

Cost one_message_each(const Call& call, const Communicator& comm) {
    return {
        .messages_sent = exactly(1),
        .bytes_sent = exactly(float_bytes(length(call, comm.rank()))),
        .messages_received = exactly(1),
        // Full-duplex it is 1 round. An order in which a rank sends, then receives, or the other
        // way around, is right too: 2 rounds, and 3 on an odd ring, where two senders meet.
        .rounds = at_most(2 + comm.size() % 2),
        .sent_to = std::set{next_of(comm)},
        .received_from = std::set{prev_of(comm)}};
}

}  // namespace

TEST_CASE("ring_shift brings every rank its left neighbour's message, of whatever length") {
    every_length(kAttempt);
}

TEST_CASE("ring_shift sends one message to the right, all ranks at the same time") {
    costs(
        kAttempt, one_message_each,
        "Each rank sends one message to the next and receives one from the previous. Did messages "
        "that had to wait for each other go one after the other? On a ring all are under way at "
        "once.",
        {3, 2, 4, 5}
    );
}

TEST_CASE("ring_shift can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_shift takes no message but the left neighbour's") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        // rank 1 has another message for rank 0 on its way, and rank 1 is not to the left of 0
        const Call call;
        const auto stray = input(7, 1, 9);
        Buffers b = kAttempt.before(call, comm);
        auto got_stray = poison(7);
        MPI_Request request = MPI_REQUEST_NULL;
        if (comm.rank() == 1) {
            MPI_Isend(stray.data(), 7, MPI_FLOAT, 0, 0, comm.handle(), &request);
        }
        MPI_Barrier(comm.handle());
        kAttempt.call(b, call, comm);
        const bool took_the_stray = comm.rank() == 0 && b.out == stray;
        if (comm.rank() == 0) {
            const int src = took_the_stray ? comm.size() - 1 : 1;
            MPI_Recv(
                got_stray.data(), 7, MPI_FLOAT, src, MPI_ANY_TAG, comm.handle(), MPI_STATUS_IGNORE
            );
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        INFO("rank 0 took a message of rank 1: a source of -1 means \"from anyone\" in this MPI");
        CHECK_FALSE(took_the_stray);
    });
}

TEST_CASE("ring_shift goes around the communicator that was given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_shift throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_shift refuses messages that are longer than an int can say") {
    auto few = poison(7);
    {
        INFO("to_next is too long");
        refuses_more_than_an_int([&](std::span<float> floats, const Communicator& comm) {
            ring_shift(floats, few, comm);
        });
    }
    INFO("from_prev is too long");
    refuses_more_than_an_int([&](std::span<float> floats, const Communicator& comm) {
        ring_shift(few, floats, comm);
    });
}

TEST_CASE("ring_shift is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
