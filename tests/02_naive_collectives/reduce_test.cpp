// reduce: everyone's data combined on the root, one message from each of the others to it.
#include "exercises/02_naive_collectives/reduce.hpp"

#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "reduce is to be built from send and recv");

std::vector<float> input_of(int rank, const Call& call) {
    return input(call.n, rank, call.salt, call.values);
}

/// The mean, divided by p after each contribution, the root's first.
std::vector<float> divided_each_time(const Call& call, int p) {
    std::vector<float> result = input_of(call.root, call);
    for (int r = 0; r < p; ++r) {
        if (r != call.root) {
            accumulate(input_of(r, call), result, ReduceOp::sum);
            scale(result, 1.0F / static_cast<float>(p));
        }
    }
    return result;
}

/// What the likely mistakes leave on the root.
std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const float share = call.op == ReduceOp::mean ? 1.0F / static_cast<float>(p) : 1.0F;
    std::vector<Suspicion> known = reduction_mistakes(call, p);
    if (call.op == ReduceOp::mean) {
        known.push_back(
            {divided_each_time(call, p),
             "that was divided in every step: the mean divides once, when all of the sum is there"}
        );
    }
    known.push_back(
        {input_of(call.root, call), "that is the root's own contribution: nothing was added to it"}
    );
    if (p > 1) {
        const auto last = input_of(call.root == p - 1 ? p - 2 : p - 1, call);
        auto doubled = last;
        accumulate(last, doubled, call.op);
        const char* overwritten =
            "the root received over its own data, which is lost: use a buffer";
        known.push_back({scaled(last, share), overwritten});
        known.push_back({scaled(doubled, share), overwritten});
        known.push_back(
            {scaled(partial(call, arc(p, call.root + 1, p - 1)), share),
             "the root's own contribution is missing"}
        );
    }
    return known;
}

/// Whether the root holds the reduction, and every other rank what it came with.
Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    if (comm.rank() == call.root) {
        return reduced(b.data, call, comm, mistakes);
    }
    const auto own = contribution(call, comm).data;
    return same(
        b.data, own, 0,
        {{reduction(call, comm.size()), "that is the result, and only the root gets it"},
         {input_of(call.root, call), "that is the root's contribution: data goes to the root"},
         {scaled(own, 1.0F / static_cast<float>(comm.size())), "that is data divided by p"}}
    );
}

const Attempt kAttempt{
    .name = "reduce",
    .takes = {.op = true, .root = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { reduce(b.data, call.op, call.root, comm); },
    .outcome = outcome};

Cost one_message_each(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    // nothing need not be sent
    const auto count = [&](long messages) {
        return call.n == 0 ? at_most(messages) : exactly(messages);
    };
    if (comm.rank() == call.root) {
        return {
            .messages_sent = exactly(0),
            .messages_received = count(others),
            .bytes_received = exactly(others * float_bytes(call.n)),
            .rounds = at_most(others)};
    }
    return {
        .messages_sent = count(1),
        .bytes_sent = exactly(float_bytes(call.n)),
        .messages_received = exactly(0)};
}

}  // namespace

TEST_CASE("reduce leaves the sum on the root, and the data of all others as it was") {
    every_length(kAttempt);
}

TEST_CASE("reduce combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("reduce can be called twice in a row, also when one rank is late") {
    two_in_a_row(kAttempt);
}

TEST_CASE("reduce sends one message from each rank, all of them to the root") {
    costs(
        kAttempt, one_message_each,
        "Each rank sends once, to the root, which alone receives; a rank that adds on the way is "
        "another algorithm."
    );
}

TEST_CASE("reduce refuses a root that is not a rank") {
    refuses_roots(kAttempt);
}

TEST_CASE("reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("reduce throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("reduce is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
