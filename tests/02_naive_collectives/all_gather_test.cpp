// all_gather: everyone's chunk on every rank, in rank order, through rank 0.
#include "exercises/02_naive_collectives/all_gather.hpp"

#include "exercises/02_naive_collectives/gather.hpp"
#include "tests/harness/words/chunks.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_gather is to be built from gather and broadcast");

Buffers before(const Call& call, const Communicator& comm) {
    return {chunk_to_give(call, comm.rank(), comm.size()), poison(call.n)};
}

Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    const Comparison all = same_labels(b.out, all_chunks(call, comm.size()));
    return all ? same_labels(b.data, before(call, comm).data) : all;
}

const Attempt kAttempt{
    .name = "all_gather",
    .before = before,
    .call = [](Buffers& b, const Call& /*call*/, const Communicator& comm
            ) { all_gather(b.data, b.out, comm); },
    .outcome = outcome};

Cost through_rank_0(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    const long n_bytes = float_bytes(call.n);
    const long own_bytes = float_bytes(chunk_of(call.n, comm).size());
    const bool empty = call.n < static_cast<std::size_t>(comm.size());  // nothing need not be sent
    const auto count = [&](long messages) { return empty ? at_most(messages) : exactly(messages); };
    if (comm.rank() == 0) {
        return {
            .messages_sent = count(others),
            .bytes_sent = exactly(others * n_bytes),
            .messages_received = count(others),
            .bytes_received = exactly(n_bytes - own_bytes),
            .rounds = at_most(2 * others)};
    }
    return {
        .messages_sent = count(1),
        .bytes_sent = exactly(own_bytes),
        .messages_received = count(1),
        .bytes_received = exactly(n_bytes),
        .rounds = at_most(2 * others),
        .partners = empty ? std::nullopt : std::optional(std::set{0})};
}

}  // namespace

TEST_CASE("all_gather gives every rank all chunks, in rank order") {
    every_length(kAttempt);
}

TEST_CASE("all_gather sends every message from or to rank 0: chunks to it, the whole back") {
    costs(
        kAttempt, through_rank_0,
        "That is a gather to rank 0, one chunk from each, then a broadcast from rank 0, the whole "
        "to each. "
        "Anything else is another algorithm."
    );
}

TEST_CASE("all_gather refuses an in that is not as long as rank 0's chunk, on rank 0") {
    refuses_lengths(kAttempt, &Buffers::data, {0});
}

TEST_CASE("all_gather notices on rank 0 that a chunk has not the length it must have") {
    on_ranks({2}, [](const Communicator& comm) {
        constexpr int kEnd = 77;  // the tag of the last message
        for (const int extra : {-1, 1}) {
            const Call call;
            Buffers b = before(call, comm);
            if (comm.rank() == 0) {
                std::string thrown = kReturned;
                try {
                    all_gather(b.data, b.out, comm);
                } catch (const Error&) {
                    thrown = kError;
                }
                MPI_Send(nullptr, 0, MPI_FLOAT, 1, kEnd, comm.handle());
                INFO(
                    "rank 1 of 2 has an in that is one float too " << (extra > 0 ? "long" : "short")
                                                                   << ": rank 0 must notice"
                );
                CHECK(thrown == kError);
                continue;
            }
            b.data.resize(b.data.size() + static_cast<std::size_t>(extra));
            gather(b.data, {}, 0, comm);
            MPI_Status status;  // of what comes back: nothing, where rank 0 is right
            do {
                MPI_Recv(b.out.data(), 7, MPI_FLOAT, 0, MPI_ANY_TAG, comm.handle(), &status);
            } while (status.MPI_TAG != kEnd);
        }
    });
}

TEST_CASE("all_gather notices on every other rank that out is not as long as the whole") {
    notices_lengths(kAttempt, &Buffers::out, Meets::at_that_rank, {2, 3});
}

TEST_CASE("all_gather can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("all_gather stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("all_gather throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("all_gather is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
