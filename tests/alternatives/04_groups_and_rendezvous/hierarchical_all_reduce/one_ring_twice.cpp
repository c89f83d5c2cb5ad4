// A ring by hand, used on the node and across: whoever receives a chunk last divides it.
#include <vector>

#include <mpi.h>

#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

namespace dist {
namespace {

/// A ring of comm, over chunks that are cut at n i / p.
class Ring {
  public:
    Ring(std::span<float> data, const Communicator& comm)
        : data_(data), comm_(comm), p_(comm.size()), r_(comm.rank()) {}

    [[nodiscard]] std::span<float> chunk(int number) const {
        const auto i = static_cast<std::size_t>((number + p_) % p_);
        const auto p = static_cast<std::size_t>(p_);
        const std::size_t begin = data_.size() * i / p;
        return data_.subspan(begin, data_.size() * (i + 1) / p - begin);
    }
    /// Chunk r + 1 is finished on rank r.
    void reduce_scatter(ReduceOp op) const {
        std::vector<float> in(data_.size() / static_cast<std::size_t>(p_) + 1);
        for (int s = 0; s < p_ - 1; ++s) {
            const auto mine = chunk(r_ - s - 1);
            pass(chunk(r_ - s), std::span(in).first(mine.size()));
            accumulate(std::span(in).first(mine.size()), mine, op);
        }
    }
    void all_gather() const {
        for (int s = 0; s < p_ - 1; ++s) {
            pass(chunk(r_ + 1 - s), chunk(r_ - s));
        }
    }

  private:
    void pass(std::span<const float> out, std::span<float> in) const {
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, (r_ + 1) % p_, 1, in.data(),
            static_cast<int>(in.size()), MPI_FLOAT, (r_ - 1 + p_) % p_, 1, comm_.handle(),
            MPI_STATUS_IGNORE
        ));
    }

    std::span<float> data_;
    const Communicator& comm_;
    int p_;
    int r_;
};

}  // namespace

Nodes make_nodes(int per_node, const Communicator& comm) {
    expects(per_node >= 1 && comm.size() % per_node == 0, "make_nodes: every node is full");
    return {comm.split(comm.rank() / per_node), comm.split(comm.rank() % per_node)};
}

void hierarchical_all_reduce(std::span<float> data, ReduceOp op, const Nodes& nodes) {
    const int p = nodes.node.size() * nodes.across.size();
    const Ring node(data, nodes.node);
    const Ring across(node.chunk(nodes.node.rank() + 1), nodes.across);
    node.reduce_scatter(op);  // of a mean it adds, and nobody divides there
    across.reduce_scatter(op);
    if (op == ReduceOp::mean) {
        scale(across.chunk(nodes.across.rank() + 1), 1.0F / static_cast<float>(p));
    }
    across.all_gather();
    node.all_gather();
}

}  // namespace dist
