// halving_doubling_all_reduce: the right result everywhere, with a ring's bytes in 2 log2 p rounds.
#include "exercises/03_ring_and_tree/halving_doubling.hpp"

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/words/contributions.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from messages: exchange halves with rank r ^ d."
);

const char* const kHalving =
    "Each step halves the part of data that a rank works on, and doubles those in it. Is what "
    "comes "
    "in added to the half that is kept?";

const Attempt kAttempt{
    .name = "halving_doubling",
    .takes = {.op = true},
    .before = contribution,
    .call = [](Buffers& b, const Call& call, const Communicator& comm
            ) { halving_doubling_all_reduce(b.data, call.op, comm); },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return reduced(b.data, call, comm, doubling_mistakes); }};

/// p is a power of two; an empty part need not be sent.
Cost twice_each_partner(const Call& call, const Communicator& comm) {
    Cost cost{.messages_sent = at_most(2L * floor_log(comm.size()))};
    if (call.n >= 1000) {
        cost.partners = doubling_partners(comm.rank(), comm.size());
    }
    return cost;
}

Cost bytes_of_a_ring(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const int q = floor_power(p);
    const long folded = p == q ? 0 : 1;
    const long parts = 2L * (q - 1);
    const long longest = ceil_div(call.n, q);
    return {
        .messages_sent = at_most(2L * floor_log(p) + folded),
        .bytes_sent = at_most(4 * (parts * longest + folded * static_cast<long>(call.n)))};
}

/// Steps of the halving and of the doubling, and the two that bring in the ranks beyond q.
Cost rounds_of_both(const Call&, const Communicator& comm) {
    const int p = comm.size();
    return {.rounds = rounds_within(2L * floor_log(p) + (p == floor_power(p) ? 0 : 2))};
}

}  // namespace

TEST_CASE("halving_doubling takes in every rank once, p a power of two") {
    every_rank_once(kAttempt, {4, 2, 1, 8}, kHalving);
}

TEST_CASE("halving_doubling takes in every rank once, p no power of two") {
    every_rank_once(kAttempt, {3, 5, 6, 7}, kHalving);
}

TEST_CASE("halving_doubling works for every length and every operation") {
    every_length(kAttempt, {3, 1, 2, 4, 5, 8});
    every_operation(kAttempt, {3, 1, 2, 4, 5, 8});
}

TEST_CASE("halving_doubling exchanges parts with rank r ^ d, once on each of its two ways") {
    costs(
        kAttempt, twice_each_partner, "One exchange with r ^ d on the way there, one back.",
        {4, 1, 2, 8}
    );
}

TEST_CASE("halving_doubling sends parts that are half as long in each step, and a ring's bytes") {
    costs(
        kAttempt, bytes_of_a_ring, "A half, a quarter, and so on, there and back.",
        {4, 1, 2, 8, 3, 5, 6, 7}
    );
}

TEST_CASE("halving_doubling sends one message from each of the p - q ranks that hand their data in"
) {
    others_send_one_message(kAttempt, 2);
}

TEST_CASE("halving_doubling is through after 2 log2 p rounds") {
    costs(
        kAttempt, rounds_of_both,
        "All pairs of a step exchange at the same time: does one wait for another?",
        {8, 1, 2, 4, 3, 5, 6, 7}
    );
}

TEST_CASE("halving_doubling leaves the same bits on every rank") {
    same_bits(
        kAttempt, "Each part of the sum is finished on one rank, and all others copy its bits.",
        {3, 1, 2, 4, 5, 8}
    );
}

TEST_CASE("halving_doubling can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("halving_doubling stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("halving_doubling throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("halving_doubling is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
