// recursive_doubling_all_reduce: the right result everywhere, in log2 p rounds of the whole tensor.
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/words/contributions.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from messages: exchange data with rank r ^ d."
);

const char* const kFolding =
    "Ranks below q double; one beyond q gives its data before, and gets the result after.";

const Attempt kAttempt{
    .name = "recursive_doubling",
    .takes = {.op = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { recursive_doubling_all_reduce(b.data, call.op, comm); },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return reduced(b.data, call, comm, doubling_mistakes); }};

/// p is a power of two. Nothing need be sent of a tensor without elements.
Cost all_of_it_in_each_step(const Call& call, const Communicator& comm) {
    if (call.n == 0) {
        return {.messages_sent = at_most(floor_log(comm.size()))};
    }
    return {
        .messages_sent = exactly(floor_log(comm.size())),
        .bytes_sent = exactly(float_bytes(call.n) * floor_log(comm.size())),
        .partners = doubling_partners(comm.rank(), comm.size())};
}

Cost one_message_more(const Call& call, const Communicator& comm) {
    const long most = floor_log(comm.size()) + 1;
    return {
        .messages_sent = at_most(most),
        .bytes_sent = {float_bytes(call.n), most * float_bytes(call.n)}};
}

/// Steps of the doubling, and the two that bring in the ranks beyond q.
Cost rounds_of_doubling(const Call&, const Communicator& comm) {
    const int p = comm.size();
    return {.rounds = rounds_within(floor_log(p) + (p == floor_power(p) ? 0 : 2))};
}

}  // namespace

TEST_CASE("recursive_doubling takes in every rank once, p a power of two") {
    every_rank_once(kAttempt, {4, 2, 1, 8}, "Each step doubles the number of ranks in a sum.");
}

TEST_CASE("recursive_doubling takes in every rank once, p no power of two") {
    every_rank_once(kAttempt, {3, 5, 6, 7}, kFolding);
}

TEST_CASE("recursive_doubling works for every length and every operation") {
    every_length(kAttempt, {3, 1, 2, 4, 5, 8});
    every_operation(kAttempt, {3, 1, 2, 4, 5, 8});
}

TEST_CASE("recursive_doubling exchanges the whole tensor with rank r ^ d, for d = 1, 2, 4, ...") {
    costs(
        kAttempt, all_of_it_in_each_step, "All that a rank has goes to r ^ d, once for each d.",
        {4, 1, 2, 8}
    );
}

TEST_CASE("recursive_doubling sends one message more, at most, if p is no power of two") {
    costs(
        kAttempt, one_message_more, "log2 q steps, and the result for one of the ranks beyond q.",
        {3, 5, 6, 7}
    );
}

TEST_CASE(
    "recursive_doubling sends one message from each of the p - q ranks that hand their data in"
) {
    others_send_one_message(kAttempt, 1);
}

TEST_CASE("recursive_doubling is through after log2 p rounds") {
    costs(
        kAttempt, rounds_of_doubling,
        "All pairs of a step exchange at the same time: does one wait for another?",
        {8, 1, 2, 4, 3, 5, 6, 7}
    );
}

TEST_CASE("recursive_doubling leaves the same bits on every rank") {
    same_bits(
        kAttempt, "Partners add the same two numbers: a + b here and b + a there have equal bits.",
        {3, 1, 2, 4, 5, 8}
    );
}

TEST_CASE("recursive_doubling can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("recursive_doubling stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("recursive_doubling throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("recursive_doubling is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
