// ring_reduce_scatter: chunk r of the reduction on rank r, with half a ring's traffic.
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

#include <optional>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/03_ring_and_tree/ring_half.hpp"
#include "tests/harness/words/chunks.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds a reduce-scatter from messages: pass chunks with ring_shift."
);

std::vector<float> cut(const std::vector<float>& all, const Chunk& chunk) {
    const auto part = std::span(all).subspan(chunk.begin, chunk.size());
    return {part.begin(), part.end()};
}

/// What the likely mistakes leave in chunk r of rank r, most telling first.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm, bool begins_right) {
    const int p = comm.size();
    const std::string chunk = "chunk " + std::to_string(comm.rank());
    std::vector<Suspicion> known =
        call.op == ReduceOp::mean ? mean_mistakes_here(call, comm) : other_operations(call, p);
    known.push_back(
        {contribution(call, comm).data,
         "that is this rank's own contribution: nothing was added to " +
             (begins_right ? "it. Does it belong to no chunk, where p does not divide n?"
                           : chunk + ", which is to be the last that comes in")}
    );
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            known.push_back(
                {partial(call, ranks), "that is what " + alone(ranks) + " would give, " +
                                           std::to_string(k) + " of " + std::to_string(p) +
                                           " contributions: it looks as if " + chunk +
                                           " has not visited every rank"}
            );
        }
    }
    return known;
}

/// Only they tell what is finished: the largest of some contributions may well be the largest of all.
bool adds_up(ReduceOp op) {
    return op == ReduceOp::sum || op == ReduceOp::mean;
}

/// The number of a chunk that is finished on this rank, or -1. It should be r.
int finished_chunk(
    const std::vector<float>& data, const std::vector<float>& expected, const Communicator& comm
) {
    for (int i = 0; i < comm.size(); ++i) {
        const Chunk chunk = chunk_bounds(data.size(), comm.size(), i);
        if (chunk.size() > 0 && same(cut(data, chunk), cut(expected, chunk))) {
            return i;
        }
    }
    return -1;
}

/// The elements that are finished on this rank, where they are one row that begins elsewhere than its chunk.
std::optional<Chunk> finished_elsewhere(
    const std::vector<float>& data, const std::vector<float>& expected, const Chunk& chunk
) {
    std::vector<std::size_t> finished;
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] == expected[i]) {
            finished.push_back(i);
        }
    }
    if (finished.empty() || finished.front() == chunk.begin ||
        finished.back() - finished.front() + 1 != finished.size()) {
        return std::nullopt;
    }
    return Chunk{finished.front(), finished.back() + 1};
}

Comparison my_chunk_is_reduced(const Buffers& b, const Call& call, const Communicator& comm) {
    const Chunk chunk = chunk_bounds(call.n, comm.size(), comm.rank());
    const auto all = reduction(call, comm.size());
    const auto mine = cut(b.data, chunk);
    const auto expected = cut(all, chunk);
    const double allowed = tolerance(call.op, comm.size());
    Comparison result = same(mine, expected, allowed);
    if (result || call.n > 1000) {
        return result;
    }
    const std::string r = std::to_string(comm.rank());
    const int finished = adds_up(call.op) ? finished_chunk(b.data, all, comm) : -1;
    if (finished >= 0) {
        result.text += ": chunk " + std::to_string(finished) + " is finished here, and rank " + r +
                       " is to finish chunk " + r + ": which chunk does it send first?";
    } else if (const auto other = finished_elsewhere(b.data, all, chunk);
               other && adds_up(call.op)) {
        result.text += ": " + text_of(*other) + " are finished here, and chunk " + r + " is " +
                       text_of(chunk) + ": chunk_bounds() says where a chunk begins";
    } else {
        std::vector<Suspicion> known = mistakes(call, comm, mine[0] == expected[0]);
        for (Suspicion& one : known) {
            one.values = cut(one.values, chunk);
        }
        result = same(mine, expected, allowed, known);
    }
    result.text = "chunk " + r + ", " + result.text;
    return result;
}

const Attempt kAttempt{
    .name = "ring_reduce_scatter",
    .takes = {.op = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { ring_reduce_scatter(b.data, call.op, comm); },
    .outcome = my_chunk_is_reduced};

}  // namespace

TEST_CASE("ring_reduce_scatter leaves chunk r of the sum on rank r, for every length n") {
    every_length(kAttempt);
}

TEST_CASE("ring_reduce_scatter combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("ring_reduce_scatter sends to the next rank and receives from the previous one") {
    costs(
        kAttempt, to_the_next_rank,
        "All ranks send to the next one at the same time. Does one message go around while the "
        "other ranks wait for their turn?"
    );
}

TEST_CASE("ring_reduce_scatter sends at most p-1 messages, each of one chunk") {
    costs(
        kAttempt, one_chunk_a_step,
        "In p - 1 steps every chunk but one leaves a rank once: never the whole tensor."
    );
}

TEST_CASE("ring_reduce_scatter needs memory for two chunks at most, not for all of data") {
    holds_at_most(
        kAttempt,
        [](const Call& call, const Communicator& comm) {
            return 2 * 4 * ceil_div(call.n, comm.size());
        },
        "What comes in is one chunk: it is added to the one in data, and its place is free again."
    );
}

TEST_CASE("ring_reduce_scatter can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_reduce_scatter stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_reduce_scatter throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_reduce_scatter is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
