// hierarchical_all_reduce: the reduction on every rank; what crosses from node to node is counted
// by edge.
#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

#include <algorithm>
#include <climits>

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
    "This exercise builds an all-reduce from the rings of chapter 03, each in one of the two "
    "groups."
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
    std::set<int> across;
    for (int rank = r % per_node; rank < p; rank += per_node) {
        across.insert(rank);
    }
    const std::set<int> node = arc(p, r - r % per_node, per_node);
    const std::vector<float> of_all = partial(call, arc(p, 0, p));
    if (call.op == ReduceOp::mean) {
        known.push_back(
            {scaled(of_all, 1.0F / static_cast<float>(per_node)),
             "that is divided by the ranks of a node: the mean is that of all ranks"}
        );
        known.push_back(
            {scaled(of_all, static_cast<float>(per_node) / static_cast<float>(p)),
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

/// The call with so many ranks a node, which may depend on p.
using PerNode = std::function<int(int p)>;

Attempt attempt(const PerNode& per_node) {
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

/// Nodes of L ranks, and the worlds that hold whole ones; three nodes of two first, which tell
/// most.
struct Shape {
    int per_node;
    std::vector<int> worlds;
};
const std::vector<Shape> kShapes = {
    {2, {6, 2, 4, 8}}, {3, {6, 3, 9}}, {1, {3, 1, 2}}, {4, {8, 4}}, {5, {5}}};

/// Several nodes of several ranks: where hierarchy shows.
const std::vector<Shape> kHierarchies = {{2, {6, 4, 8}}, {3, {6, 9}}, {4, {8}}};

void for_each_shape(
    const std::vector<Shape>& shapes, const std::function<void(const Attempt&, const Shape&)>& body
) {
    for (const Shape& shape : shapes) {
        body(attempt([per_node = shape.per_node](int) { return per_node; }), shape);
    }
}

/// Two thirds of the worlds have nodes of several ranks.
int some_per_node(int p) {
    return p % 2 == 0 ? 2 : p % 3 == 0 ? 3 : 1;
}

/// The two neighbours of a rank on a ring of `size` ranks, `stride` apart, that begins at `first`.
std::set<int> on_ring(int place, int size, int first, int stride) {
    if (size == 1) {
        return {};
    }
    return {first + (place + 1) % size * stride, first + (place - 1 + size) % size * stride};
}

EdgeCost ring_cost(long longest, int ranks, const std::set<int>& among) {
    const long messages = 2L * (ranks - 1);
    return {
        .messages = at_most(messages), .bytes = at_most(messages * 4 * longest), .among = among};
}

Comparison spent_by_edge(std::size_t n, int per_node, const Communicator& comm) {
    const int r = comm.rank();
    const int nodes = comm.size() / per_node;
    const long chunk = ceil_div(n, per_node);
    const long part = ceil_div(static_cast<std::size_t>(chunk), nodes);
    const int in_node = r % per_node;
    return within(
        sent_by_node(recorded_messages(comm), r, per_node),
        ring_cost(chunk, per_node, on_ring(in_node, per_node, r - in_node, 1)),
        ring_cost(part, nodes, on_ring(r / per_node, nodes, in_node, per_node))
    );
}

/// The same bits as a sum that is divided once: by p, or multiplied by 1 / p.
Comparison divided_once(
    const std::vector<float>& data, const Call& call, const Communicator& comm
) {
    const auto p = static_cast<float>(comm.size());
    std::vector<float> sum = partial(call, arc(comm.size(), 0, comm.size()));
    const std::vector<float> multiplied = scaled(sum, 1.0F / p);
    std::ranges::transform(sum, sum.begin(), [p](float x) { return x / p; });
    Comparison divided = same(data, sum);
    return divided || same(data, multiplied) ? Comparison{} : divided;
}

}  // namespace

TEST_CASE("make_nodes finds the ranks of a node, and those with the same number in theirs") {
    const auto finds = [](int per_node, const Communicator& comm) {
        const int r = comm.rank();
        const Nodes nodes = make_nodes(per_node, comm);
        std::vector<int> node;
        std::vector<int> across;
        for (int rank = 0; rank < comm.size(); ++rank) {
            if (rank / per_node == r / per_node) {
                node.push_back(rank);
            }
            if (rank % per_node == r % per_node) {
                across.push_back(rank);
            }
        }
        INFO(per_node << " ranks a node, p = " << comm.size());
        INFO("node: the ranks with the same r / L; across: those with the same r % L");
        CHECK(ranks_of(nodes.node, comm) == node);
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
    // -p comes before -1: it gives colors that MPI takes, and -1 gives negative ones, for which
    // some ranks wait
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
    for_each_shape(kShapes, [](const Attempt& on, const Shape& shape) {
        every_length(on, shape.worlds);
    });
}

TEST_CASE("hierarchical_all_reduce combines by mean, product, min and max as well") {
    for_each_shape(kShapes, [](const Attempt& on, const Shape& shape) {
        every_operation(on, shape.worlds);
    });
}

TEST_CASE("hierarchical_all_reduce divides a mean once, by the number of all ranks") {
    for_each_shape({{3, {9, 6}}, {2, {6}}, {5, {5}}}, [](const Attempt& on, const Shape& shape) {
        on_ranks(shape.worlds, [&](const Communicator& comm) {
            const Call call{.n = 1000, .op = ReduceOp::mean};
            Buffers b = on.before(call, comm);
            on.call(b, call, comm);
            INFO(text_of(on, call, comm));
            INFO(
                "the bits are those of the sum, divided once: who divides in each ring rounds twice"
            );
            CHECK(divided_once(b.data, call, comm));
        });
    });
}

TEST_CASE("hierarchical_all_reduce sends a node's chunks to other nodes, and each of them once") {
    for (const auto& [per_node, worlds] : kHierarchies) {
        const Attempt on = attempt([per = per_node](int) { return per; });
        on_ranks_each(
            worlds, [](int p) { return lengths(p).size(); },
            [&, per = per_node](const Communicator& comm, std::size_t number) {
                const Call call{.n = lengths(comm.size())[number]};
                Buffers b = on.before(call, comm);
                const Traffic traffic = record(comm, [&] { on.call(b, call, comm); });
                if (!traffic.counted) {
                    return;
                }
                INFO(text_of(on, call, comm));
                INFO(
                    "A rank talks to its two neighbours on the node's ring, in chunks of n / L, "
                    "and to "
                    "its two neighbours across, in parts of its own chunk."
                );
                CHECK(spent_by_edge(call.n, per, comm));
            }
        );
    }
}

TEST_CASE("hierarchical_all_reduce keeps all ranks busy at the same time") {
    for_each_shape(kHierarchies, [](const Attempt& on, const Shape& shape) {
        costs(
            on,
            [&](const Call&, const Communicator& comm) {
                const int nodes = comm.size() / shape.per_node;
                const Bound inside = ring_rounds(2L * (shape.per_node - 1), shape.per_node);
                const Bound across = ring_rounds(2L * (nodes - 1), nodes);
                return Cost{.rounds = at_most(inside.most + across.most)};
            },
            "All nodes work at the same time, and all numbers of a node go across at the same "
            "time.",
            shape.worlds
        );
    });
}

TEST_CASE("hierarchical_all_reduce leaves the same bits on every rank") {
    for_each_shape(kShapes, [](const Attempt& on, const Shape& shape) {
        same_bits(on, "One rank finishes each part, and all others copy its bits.", shape.worlds);
    });
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
    two_in_a_row(attempt(some_per_node));
}

TEST_CASE("hierarchical_all_reduce works on nodes of any communicator") {
    on_other_communicators(attempt(some_per_node));
}

TEST_CASE("hierarchical_all_reduce throws dist::Error if a message fails") {
    reports_failures(attempt(some_per_node), {4, 3, 6});
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
