// ring_reduce: everyone's data combined on the root, in segments that follow each other.
#include "exercises/03_ring_and_tree/ring_reduce.hpp"

#include "tests/03_ring_and_tree/pipeline.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a reduction from messages between neighbours."
);

/// What the likely mistakes leave on the root.
std::vector<Suspicion> on_the_root(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const auto own = contribution(call, comm).data;
    std::vector<Suspicion> known =
        call.op == ReduceOp::mean ? mean_mistakes_here(call, comm) : other_operations(call, p);
    known.push_back({own, "that is the root's own contribution: nothing was added to it"});
    if (call.op == ReduceOp::sum) {
        auto twice = reduction(call, p);
        accumulate(own, twice, call.op);
        known.push_back({twice, "the root's own contribution is in it twice"});
    }
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            known.push_back(
                {partial(call, ranks), "that is what " + alone(ranks) + " would give, " +
                                           std::to_string(k) + " of " + std::to_string(p) +
                                           " contributions"}
            );
        }
    }
    return known;
}

/// What the likely mistakes leave on another rank, whose data is to be left as it was.
std::vector<Suspicion> elsewhere(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    std::vector<Suspicion> known;
    for (int k = 1; k <= (comm.rank() - call.root + p) % p; ++k) {
        known.push_back(
            {partial(call, arc(p, (call.root + 1) % p, k)),
             "that is the partial result that passes here: it needs memory of its own, data is to "
             "be left as it was on all ranks but the root"}
        );
    }
    return known;
}

const Attempt kAttempt{
    .name = "ring_reduce",
    .takes = {.op = true, .root = true, .segments = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { ring_reduce(b.data, call.op, call.root, call.segments, comm); },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator& comm) {
            if (comm.rank() == call.root) {
                return reduced(b.data, call, comm, on_the_root);
            }
            const bool is_short = call.n <= 1000;
            return same(
                b.data, contribution(call, comm).data, 0.0,
                is_short ? elsewhere(call, comm) : std::vector<Suspicion>()
            );
        }};

const Pipeline kPipeline{.attempt = kAttempt, .begins = 1, .adds = true};

}  // namespace

TEST_CASE("ring_reduce leaves the sum on the root, and the data of all others as it was") {
    any_number_of_segments(kPipeline, "is what leaves overwritten by what comes in?");
}

TEST_CASE("ring_reduce works for every length, to every root") {
    every_length(kAttempt);
}

TEST_CASE("ring_reduce combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("ring_reduce sends each segment once over each link, and none from the root") {
    each_segment_once(kPipeline);
}

TEST_CASE("ring_reduce cuts segments as chunk_bounds does") {
    segments_are_chunks(kPipeline);
}

TEST_CASE("ring_reduce passes a segment on while the next one comes in") {
    is_a_pipeline(kPipeline, {5, 2, 3, 4});
}

TEST_CASE("ring_reduce needs memory for two segments, however long data is") {
    holds_at_most(
        kAttempt,
        [](const Call& call, const Communicator&) {
            return 2 * 4 * ceil_div(call.n, call.segments);
        },
        "One segment comes in while another one leaves: these two are all that is here beside data."
    );
}

TEST_CASE("ring_reduce refuses a root that is not a rank, and segments below 1") {
    refuses_roots(kAttempt);
    refuses_segments(kAttempt);
}

TEST_CASE("ring_reduce refuses segments that are longer than an int can say") {
    refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
        ring_reduce(floats, ReduceOp::sum, 0, 1, comm);
    });
}

TEST_CASE("ring_reduce can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("ring_reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("ring_reduce throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("ring_reduce is right on 11 ranks, and still a pipeline", "[many]") {
    on_many_ranks(kAttempt);
    is_a_pipeline(kPipeline, {kManyRanks});
}
