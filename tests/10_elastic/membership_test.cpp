// What a node of an elastic job must do, whoever comes, goes, dies, stands still or is cut off.
// Nodes are threads of a virtual time, which go on one at a time; what must hold of any job stands
// in membership_job.hpp.
#include "exercises/10_elastic/membership.hpp"

#include <memory>
#include <stdexcept>

#include "tests/10_elastic/membership_costs.hpp"
#include "tests/10_elastic/membership_faults.hpp"
#include "tests/10_elastic/membership_orders.hpp"
#include "tests/10_elastic/membership_rounds.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

void with_seeds(std::size_t seeds, void (*test)(std::uint64_t seed)) {
    on_ranks_each(
        {1}, [&](int) { return seeds; }, [&](const Communicator&, std::size_t seed) { test(seed); }
    );
}

void in_all_orders(
    const RendezvousSettings& settings, std::size_t depth, void (*cast)(Job&, Orders&)
) {
    on_ranks({1}, [&](const Communicator& comm) {
        // a gate: the harness sees it move
        in_every_order(settings, depth, cast, [&] { same_on_all_ranks({}, comm); });
    });
}

}  // namespace

TEST_CASE("membership: workers have ranks by node, whatever numbers of workers the nodes have") {
    on_one_rank(ranks_by_node);
}

TEST_CASE("membership: two nodes that come together are told one round, in every order of calls") {
    in_all_orders(between(2, 2), 8, both_come);
}

TEST_CASE("membership: who comes late is in a new round, and waits where there is no room") {
    on_one_rank(comes_late);
}

TEST_CASE("membership: a death is noticed, although nobody waits to come in") {
    on_one_rank(dies_and_nobody_waits);
}

TEST_CASE("membership: a node that leaves is missed at once, and is in no round any more") {
    on_one_rank(leaves);
}

TEST_CASE("membership: a node that is cut off is dropped, and comes back in a new round") {
    on_one_rank(is_cut_off);
}

TEST_CASE("membership: without enough nodes next() throws Timeout, and can be called again") {
    on_one_rank(gives_up);
}

TEST_CASE("membership: after a Timeout in next(), finish() is false, whatever round had begun") {
    on_one_rank(gives_up_after_a_round_began);
}

TEST_CASE("membership: a job is finished when all nodes are, who live while they ask") {
    on_one_rank(all_finish);
}

TEST_CASE("membership: what was finished in an older round counts for nothing") {
    on_one_rank(finish_of_an_older_round);
}

TEST_CASE("membership: a finished or closed job begins no more rounds, and tells all that come") {
    on_one_rank(no_more_rounds);
}

TEST_CASE("membership: one finishes and goes, the other finishes: in every order all is well") {
    in_all_orders(between(2, 2), 9, finishes_and_goes);
}

TEST_CASE("membership: two nodes finish, and go when they hear of both, in every order of calls") {
    in_all_orders(between(2, 2), 8, both_finish);
}

TEST_CASE("membership: the last one to finish stands still, and others come: one of both counts") {
    with_seeds(2, [](std::uint64_t seed) { finish_is_one_moment(seed, true); });
    with_seeds(2, [](std::uint64_t seed) { finish_is_one_moment(seed, false); });
}

TEST_CASE("membership: a node dies before any of its calls of the store, and the others go on") {
    with_seeds(2, dies_at_every_call);
}

TEST_CASE("membership: an answer is lost, and the call that is made again counts once") {
    with_seeds(2, answers_lost);
}

TEST_CASE("membership: a node is cut off before any of its calls, and comes back") {
    with_seeds(2, cut_at_every_call);
}

TEST_CASE("membership: who stands still before any of its calls does no harm when it goes on") {
    with_seeds(4, stands_still_at_every_call);
}

TEST_CASE("membership: whatever becomes of four nodes, all that live come to the same end") {
    with_seeds(40, lives_of_jobs);
}

TEST_CASE("membership: workers of two rounds or two runs do not meet") {
    on_one_rank(prefixes);
    on_one_rank(keys_of_a_job);
}

TEST_CASE("membership: in 60 rounds the store gets no more keys than in two") {
    on_one_rank(keys_stay_few);
}

TEST_CASE("membership costs one value of the store for holds(), and two for finish()") {
    on_one_rank(costs_of_calls);
}

TEST_CASE("membership: through a HashStore and a FileStore, on the machine's own clock") {
    on_ranks({1}, [](const Communicator&) {
        const auto store = std::make_shared<HashStore>();
        through([&] { return store; });
    });
    on_ranks({1}, [](const Communicator&) {
        const std::string path = fresh_path().string();
        through([&] { return std::make_shared<FileStore>(path, kRun); });
    });
}

TEST_CASE("membership: it refuses a node without workers") {
    on_ranks({1}, [](const Communicator&) {
        HashStore store;
        SteadyClock clock;
        const auto make = [&](int workers, const RendezvousSettings& settings) {
            const Membership node(store, "job", "a", workers, settings, clock);
        };
        CHECK_NOTHROW(make(1, between(1, 1)));
        CHECK_THROWS_AS(make(0, between(1, 1)), std::invalid_argument);
        CHECK_THROWS_AS(make(1, between(2, 1)), std::invalid_argument);
    });
}
