// hierarchical_all_reduce: the reduction on every rank; what crosses from node to node is counted by edge.
#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "tests/harness/words/edges.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from the rings of chapter 03, each in one of the groups."
);

/// The test's own, so that nodes that are made wrongly fail in one test only.
Nodes nodes_of(int per_node, const Communicator& comm) {
    const int r = comm.rank();
    return {comm.split(r / per_node, r), comm.split(r % per_node, r)};
}

/// The ranks of comm that a group has, in its order.
std::vector<int> ranks_of(const Communicator& group, const Communicator& comm) {
    const Permit the_tests_own;
    const int mine = comm.rank();
    std::vector<int> all(group.size());
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, group.handle());
    return all;
}

std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm, int per_node) {
    const int p = comm.size();
    const int r = comm.rank();
    std::vector<Suspicion> known =
        call.op == ReduceOp::mean ? mean_mistakes_here(call, comm) : other_operations(call, p);
    const std::set<int> node = arc(p, r - r % per_node, per_node);
    std::set<int> across;
    for (int rank = r % per_node; rank < p; rank += per_node) {
        across.insert(rank);
    }
    if (call.op == ReduceOp::mean) {
        const std::vector<float> of_all = partial(call, arc(p, 0, p));
        const auto nodes = static_cast<float>(p / per_node);
        known.push_back(
            {scaled(of_all, 1.0F / static_cast<float>(per_node)),
             "that is divided by the ranks of a node: the mean is that of all ranks"}
        );
        known.push_back(
            {scaled(of_all, 1.0F / nodes),
             "that is divided by the number of nodes: the mean is that of all ranks"}
        );
    }
    known.push_back(
        {contribution(call, comm).data,
         "that is this rank's own contribution: no ring reached it, or no finished chunk came"}
    );
    known.push_back(
        {partial(call, node),
         "that is what its node, " + alone(node) +
             ", would give: as if this chunk had not been across, or had not come back"}
    );
    known.push_back(
        {partial(call, across),
         "that is what " + alone(across) + " would give, which have this number in their nodes"}
    );
    return known;
}

/// The call with so many ranks a node.
Attempt attempt(int (*per_node)(int p)) {
    return {
        .name = "hierarchical_all_reduce",
        .takes = {.op = true},
        .before = contribution,
        .call =
            [per_node](Buffers& b, const Call& call, const Communicator& comm) {
                hierarchical_all_reduce(b.data, call.op, nodes_of(per_node(comm.size()), comm));
            },
        .outcome =
            [per_node](const Buffers& b, const Call& call, const Communicator& comm) {
                return reduced(
                    b.data, call, comm,
                    [per_node](const Call& c, const Communicator& on) {
                        return mistakes(c, on, per_node(on.size()));
                    }
                );
            },
        .note =
            [per_node](const Call& /*call*/, const Communicator& comm) {
                const int per = per_node(comm.size());
                return text(comm.size() / per, " nodes of ", per);
            }};
}

/// Nodes of two ranks, of three, or of one.
int small(int p) {
    return p % 2 == 0 ? 2 : p % 3 == 0 ? 3 : 1;
}

/// Two nodes, or one.
int large(int p) {
    return p == 6 || p == 8 ? p / 2 : p;
}

using Shapes = std::vector<std::pair<int (*)(int p), std::vector<int>>>;

/// Nodes, and worlds; three nodes of two first, which tell most.
const Shapes kShapes = {{small, {6, 1, 2, 4, 5, 8, 9}}, {large, {6, 3, 4, 5, 8}}};

/// Several nodes of several ranks: where hierarchy shows.
const Shapes kHierarchies = {{small, {6, 4, 8, 9}}, {large, {6, 8}}};

}  // namespace

TEST_CASE("make_nodes finds the ranks of a node, and those with the same number in theirs") {
    const auto finds = [](int per_node, const Communicator& comm) {
        const int r = comm.rank();
        const Nodes nodes = make_nodes(per_node, comm);
        const std::set<int> node = arc(comm.size(), r - r % per_node, per_node);
        std::vector<int> across;
        for (int rank = r % per_node; rank < comm.size(); rank += per_node) {
            across.push_back(rank);
        }
        INFO(per_node << " ranks a node, p = " << comm.size());
        INFO("node: the ranks with the same r / L; across: those with the same r % L");
        CHECK(ranks_of(nodes.node, comm) == std::vector<int>(node.begin(), node.end()));
        CHECK(ranks_of(nodes.across, comm) == across);
    };
    on_ranks({6, 1, 2, 3, 4, 8}, [&](const Communicator& comm) {
        const Communicator turned = comm.split(0, -comm.rank());
        for (int per_node = 1; per_node <= comm.size(); ++per_node) {
            if (comm.size() % per_node == 0) {
                finds(per_node, comm);
                INFO("in a communicator whose ranks are numbered the other way");
                finds(per_node, turned);
            }
        }
    });
}

TEST_CASE("make_nodes refuses nodes without ranks, and those that are not all full") {
    // -p comes before -1: it gives colors that MPI takes, and -1 gives negative ones, for which some ranks wait
    const auto numbers = [](int p) { return std::vector{0, -p, -1, INT_MIN, 4, p + 1, 2 * p}; };
    on_ranks_each(
        {6, 1, 5}, [&](int p) { return numbers(p).size(); },
        [&](const Communicator& comm, std::size_t number) {
            const int per_node = numbers(comm.size())[number];
            refuses(comm, text(per_node, " ranks a node, p = ", comm.size()), [&] {
                make_nodes(per_node, comm);
            });
        }
    );
}

TEST_CASE("make_nodes sends no message") {
    on_ranks({6, 3}, [](const Communicator& comm) {
        const Traffic traffic = record(comm, [&] { make_nodes(3, comm); });
        CHECK(within(traffic, {.messages_sent = exactly(0)}));
    });
}

TEST_CASE("hierarchical_all_reduce sums every element over all ranks, for every length n") {
    for (const auto& [per_node, worlds] : kShapes) {
        every_length(attempt(per_node), worlds);
    }
}

TEST_CASE("hierarchical_all_reduce combines by mean, product, min and max as well") {
    for (const auto& [per_node, worlds] : kShapes) {
        every_operation(attempt(per_node), worlds);
    }
}

TEST_CASE("hierarchical_all_reduce divides a mean once, by the number of all ranks") {
    for (const auto& [per_node, worlds] : Shapes{{small, {9, 6}}, {large, {6, 5}}}) {
        const Attempt on = attempt(per_node);
        on_ranks(worlds, [&](const Communicator& comm) {
            const Call call{.n = 1000, .op = ReduceOp::mean};
            Buffers b = on.before(call, comm);
            on.call(b, call, comm);
            const auto p = static_cast<float>(comm.size());
            std::vector<float> sum = partial(call, arc(comm.size(), 0, comm.size()));
            const std::vector<float> multiplied = scaled(sum, 1.0F / p);
            std::ranges::transform(sum, sum.begin(), [p](float x) { return x / p; });
            INFO(text_of(on, call, comm));
            INFO("the sum, divided or multiplied once: who divides in each ring rounds twice");
            CHECK((b.data == multiplied ? Comparison{} : same(b.data, sum)));
        });
    }
}

TEST_CASE("hierarchical_all_reduce sends a node's chunks to other nodes, and each of them once") {
    for (const auto& [per_node, worlds] : kHierarchies) {
        const Attempt on = attempt(per_node);
        on_ranks_each(
            worlds, [](int p) { return lengths(p).size(); },
            [&, per_node = per_node](const Communicator& comm, std::size_t number) {
                const Call call{.n = lengths(comm.size())[number]};
                Buffers b = on.before(call, comm);
                const Traffic traffic = record(comm, [&] { on.call(b, call, comm); });
                if (!traffic.counted) {
                    return;
                }
                const int r = comm.rank();
                const int per = per_node(comm.size());
                const int in_node = r % per;
                const long chunk = ceil_div(call.n, per);
                const long part = ceil_div(static_cast<std::size_t>(chunk), comm.size() / per);
                // on a ring: to its neighbours there, which are `stride` ranks apart
                const auto ring = [](long longest, int place, int size, int first, int stride) {
                    const long messages = 2L * (size - 1);
                    EdgeCost cost = {at_most(messages), at_most(messages * 4 * longest), {}};
                    if (size > 1) {
                        cost.among = {
                            first + (place + 1) % size * stride,
                            first + (place + size - 1) % size * stride};
                    }
                    return cost;
                };
                INFO(text_of(on, call, comm));
                INFO(
                    "A rank talks to its two neighbours on the node's ring, in chunks of n / L, "
                    "and to its two neighbours across, in parts of its own chunk."
                );
                const Comparison spent_by_edge = within(
                    sent_by_node(recorded_messages(comm), r, per),
                    ring(chunk, in_node, per, r - in_node, 1),
                    ring(part, r / per, comm.size() / per, in_node, per)
                );
                CHECK(spent_by_edge);
            }
        );
    }
}

TEST_CASE("hierarchical_all_reduce keeps all ranks busy at the same time") {
    for (const auto& [per_node, worlds] : kHierarchies) {
        costs(
            attempt(per_node),
            [per_node = per_node](const Call&, const Communicator& comm) {
                const int per = per_node(comm.size());
                const int nodes = comm.size() / per;
                const long inside = ring_rounds(2L * (per - 1), per).most;
                return Cost{.rounds = at_most(inside + ring_rounds(2L * (nodes - 1), nodes).most)};
            },
            "All nodes work at the same time, and all numbers of a node go across at once.", worlds
        );
    }
}

TEST_CASE("hierarchical_all_reduce leaves the same bits on every rank") {
    for (const auto& [per_node, worlds] : kShapes) {
        same_bits(attempt(per_node), "One rank finishes each part, and all copy its bits.", worlds);
    }
}

TEST_CASE("hierarchical_all_reduce needs memory for two chunks at most, not for all of data") {
    holds_at_most(
        attempt([](int) { return 3; }),
        [](const Call& call, const Communicator&) { return 2 * 4 * ceil_div(call.n, 3); },
        "A ring needs one chunk for what comes in, and the next ring can use its place again.",
        {6, 9}
    );
}

TEST_CASE("hierarchical_all_reduce can be called twice in a row") {
    two_in_a_row(attempt(small));
}

TEST_CASE("hierarchical_all_reduce works on nodes of any communicator") {
    on_other_communicators(attempt(small));
}

TEST_CASE("hierarchical_all_reduce throws dist::Error if a message fails") {
    reports_failures(attempt(small), {4, 3, 6});
}

TEST_CASE("hierarchical_all_reduce throws dist::Error if a message to another node fails") {
    on_ranks({4, 6}, [](const Communicator& comm) {
        const Nodes nodes = nodes_of(2, comm);
        std::vector<float> data(comm.size() * 2U);
        const auto call = [&] { hierarchical_all_reduce(data, ReduceOp::sum, nodes); };
        const Traffic all = record(comm, call);
        const long messages = all.messages_sent + all.messages_received;
        INFO("the last message of the step in the middle fails, on every rank: it went across");
        const FailingMessage failing(messages / 2);
        const Answer got = answer(comm, call);
        CHECK(got.what == (messages > 0 ? kError : kReturned));
    });
}

TEST_CASE("hierarchical_all_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(attempt([](int p) { return p; }));
    on_many_ranks(attempt([](int) { return 1; }));
}
