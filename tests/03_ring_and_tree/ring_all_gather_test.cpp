// ring_all_gather: every rank's chunk on every rank, with half a ring's traffic.
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/03_ring_and_tree/ring_half.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-gather from messages: pass chunks with ring_shift."
);

/// Element k of rank i's part: 1000, 1001, ... on rank 0, 2000, 2001, ... on rank 1. Calls differ.
float element(const Call& call, int i, std::size_t k) {
    return static_cast<float>(
        20'000 * call.salt + 1000 * static_cast<std::size_t>(i + 1) + k % 1000
    );
}

/// What rank r has in the places of the other ranks before the call: nothing that anyone wants.
float leftover(int r) {
    return static_cast<float>(-1 - r);
}

/// The call's n floats in p chunks; `value(i, k)` is element k of chunk i.
template <class Value>
std::vector<float> chunks(const Call& call, int p, Value value) {
    std::vector<float> all(call.n);
    for (int i = 0; i < p; ++i) {
        const Chunk chunk = chunk_bounds(call.n, p, i);
        for (std::size_t k = 0; k < chunk.size(); ++k) {
            all[chunk.begin + k] = value(i, k);
        }
    }
    return all;
}

/// What the likely mistakes leave behind.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const auto added = [&](int i, std::size_t k) {  // at each rank on the way from i to here
        float value = element(call, i, k);
        for (int rank = i; rank != comm.rank();) {
            rank = (rank + 1) % p;
            value += leftover(rank);
        }
        return value;
    };
    std::vector<Suspicion> known = {
        {chunks(call, p, added),
         "that is the right chunk added to what was here: it is to take its place"}};
    for (int j = 0; j < p; ++j) {
        const std::string rank = "rank " + std::to_string(j);
        known.push_back(
            {std::vector<float>(call.n, leftover(j)),
             j == comm.rank() ? "that was here before the call: no chunk came to this place"
                              : "that was in this place on " + rank +
                                    " before the call: as if it passed on a chunk that had not "
                                    "come yet, or cut chunks that are not those of chunk_bounds"}
        );
        known.push_back(
            {chunks(call, p, [&](int, std::size_t k) { return element(call, j, k); }),
             "that is the part of " + rank + ", in the wrong place"}
        );
    }
    return known;
}

const Attempt kAttempt{
    .name = "ring_all_gather",
    .before =
        [](const Call& call, const Communicator& comm) {
            const int r = comm.rank();
            return Buffers{chunks(call, comm.size(), [&](int i, std::size_t k) {
                return i == r ? element(call, r, k) : leftover(r);
            })};
        },
    .call = [](Buffers& b, const Call&, const Communicator& comm
            ) { ring_all_gather(b.data, comm); },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator& comm) {
            const auto expected = chunks(call, comm.size(), [&](int i, std::size_t k) {
                return element(call, i, k);
            });
            const bool is_short = call.n <= 1000;  // a long one has the mistakes of a short one
            return same(
                b.data, expected, 0.0, is_short ? mistakes(call, comm) : std::vector<Suspicion>()
            );
        }};

}  // namespace

TEST_CASE("ring_all_gather gives every rank the chunk of every rank, for every length n") {
    INFO("rank 0 brought 1000, 1001, ...; rank 1 brought 2000, 2001, ...; and so on");
    every_length(kAttempt);
}

TEST_CASE("ring_all_gather sends to the next rank and receives from the previous one") {
    costs(
        kAttempt, to_the_next_rank,
        "All ranks send to the next one at the same time. Does one message go around while the "
        "other ranks wait for their turn?"
    );
}

TEST_CASE("ring_all_gather sends at most p-1 messages, each of one chunk") {
    costs(
        kAttempt, one_chunk_a_step,
        "In p - 1 steps every chunk but one leaves a rank once: never all that is there."
    );
}

TEST_CASE("ring_all_gather needs no memory beside data") {
    holds_at_most(
        kAttempt, [](const Call&, const Communicator&) { return 0L; },
        "A chunk comes into its place in data, and leaves from there."
    );
}

TEST_CASE("ring_all_gather can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_all_gather stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_all_gather throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_all_gather is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
