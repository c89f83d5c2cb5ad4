// ring_broadcast: the root's data on every rank, passed on in segments that follow each other.
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

#include "tests/03_ring_and_tree/pipeline.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a broadcast from messages between neighbours."
);

/// 0, 1, 2, ...: a wrong value says where in the root's data it stands. The next call counts on.
std::vector<float> roots_data(const Call& call) {
    std::vector<float> data(call.n);
    for (std::size_t k = 0; k < call.n; ++k) {
        data[k] = static_cast<float>(k + call.salt * 1'000'000);
    }
    return data;
}

/// What rank r holds before the call, if it is not the root: nothing that anyone wants.
std::vector<float> leftover(const Call& call, int r) {
    return std::vector<float>(call.n, static_cast<float>(-1 - r));
}

/// Segment `other` in the place of every segment.
std::vector<float> everywhere(const Call& call, int other) {
    const auto data = roots_data(call);
    const Chunk from = chunk_bounds(call.n, call.segments, other);
    std::vector<float> values;
    for (int i = 0; i < call.segments; ++i) {
        const std::size_t length = chunk_bounds(call.n, call.segments, i).size();
        for (std::size_t k = 0; k < length; ++k) {
            values.push_back(data[std::min(from.begin + k, call.n - 1)]);
        }
    }
    return values;
}

std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    std::vector<Suspicion> known;
    known.reserve(static_cast<std::size_t>(comm.size()) + static_cast<std::size_t>(call.segments));
    for (int r = 0; r < comm.size(); ++r) {
        known.push_back(
            {leftover(call, r),
             r == comm.rank() ? "that was here before the call: nothing came to this place"
                              : "that was in this place on rank " + std::to_string(r) +
                                    " before the call: as if it passed on a segment that had not "
                                    "come yet, or cut segments that are not those of chunk_bounds"}
        );
    }
    for (int other = 0; other < call.segments; ++other) {
        known.push_back(
            {everywhere(call, other), "that belongs to segment " + std::to_string(other) +
                                          ": it came in late, or was put into the wrong place"}
        );
    }
    return known;
}

const Attempt kAttempt{
    .name = "ring_broadcast",
    .takes = {.root = true, .segments = true},
    .before =
        [](const Call& call, const Communicator& comm) {
            const int r = comm.rank();
            return Buffers{r == call.root ? roots_data(call) : leftover(call, r)};
        },
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { ring_broadcast(b.data, call.root, call.segments, comm); },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator& comm) {
            const bool is_short = call.n <= 1000;  // a long one has the mistakes of a short one
            return same(
                b.data, roots_data(call), 0.0,
                is_short ? mistakes(call, comm) : std::vector<Suspicion>()
            );
        }};

const Pipeline kPipeline{.attempt = kAttempt};

}  // namespace

TEST_CASE("ring_broadcast gives every rank the root's data, from every root, for every length n") {
    every_length(kAttempt);
}

TEST_CASE("ring_broadcast works for any number of segments") {
    any_number_of_segments(kPipeline, "does each segment leave after it has come in?");
}

TEST_CASE("ring_broadcast sends each segment once over each link, and none back to the root") {
    each_segment_once(kPipeline);
}

TEST_CASE("ring_broadcast cuts segments as chunk_bounds does") {
    segments_are_chunks(kPipeline);
}

TEST_CASE("ring_broadcast passes a segment on while the next one comes in") {
    is_a_pipeline(kPipeline, {5, 2, 3, 4});
}

TEST_CASE("ring_broadcast needs no memory beside data") {
    holds_at_most(
        kAttempt, [](const Call&, const Communicator&) { return 0L; },
        "A segment comes into its place in data, and leaves from there."
    );
}

TEST_CASE("ring_broadcast refuses a root that is not a rank, and segments below 1") {
    refuses_roots(kAttempt);
    refuses_segments(kAttempt);
}

TEST_CASE("ring_broadcast refuses segments that are longer than an int can say") {
    refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
        ring_broadcast(floats, 0, 1, comm);
    });
}

TEST_CASE("ring_broadcast can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_broadcast stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_broadcast throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_broadcast is right on 11 ranks, and still a pipeline", "[many]") {
    on_many_ranks(kAttempt);
    is_a_pipeline(kPipeline, {kManyRanks});
}
