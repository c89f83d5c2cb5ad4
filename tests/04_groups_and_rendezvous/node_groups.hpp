// The two groups of a rank in hierarchical_all_reduce: whom each of them has.
#pragma once

#include <string>
#include <vector>

#include <mpi.h>

#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"
#include "tests/04_groups_and_rendezvous/group_tables.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// The test's own, so that nodes that are made wrongly fail in one test only.
inline Nodes nodes_of(int per_node, const Communicator& comm) {
    const int r = comm.rank();
    return {comm.split(r / per_node, r), comm.split(r % per_node, r)};
}

/// The ranks of comm that a group has, in its order.
inline std::vector<int> ranks_of(const Communicator& group, const Communicator& comm) {
    const Permit the_tests_own;
    const int mine = comm.rank();
    std::vector<int> all(static_cast<std::size_t>(group.size()));
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, group.handle());
    return all;
}

inline Comparison same_ranks(const std::vector<int>& got, const std::vector<int>& expected) {
    return {got == expected, "expected ranks " + in_order(expected) + ", got " + in_order(got)};
}

/// Both groups of make_nodes hold whom they have to.
inline void check_nodes(int per_node, const Communicator& comm) {
    const int r = comm.rank();
    const Nodes nodes = make_nodes(per_node, comm);
    const std::vector<int> in_node = ranks_of(nodes.node, comm);
    const std::vector<int> in_across = ranks_of(nodes.across, comm);
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
    {
        INFO("node: the ranks with the same r / " << per_node);
        const Comparison result = same_ranks(in_node, node);
        CHECK(result);
    }
    INFO("across: the ranks with the same r % " << per_node);
    const Comparison result = same_ranks(in_across, across);
    CHECK(result);
}

}  // namespace dist::harness
