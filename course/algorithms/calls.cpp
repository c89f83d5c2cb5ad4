#include "course/algorithms/calls.hpp"

#include <vector>

#include <mpi.h>

#include "course/algorithms/models.hpp"
#include "course/runtime/error.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"
#include "exercises/03_ring_and_tree/ring_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist::lab {
namespace {

/// This rank's chunk of its data, or of its contribution.
template <class T>
std::span<T> chunk(std::span<T> whole, const Communicator& comm) {
    const Chunk mine = chunk_bounds(whole.size(), comm.size(), comm.rank());
    return whole.subspan(mine.begin, mine.size());
}

int length(std::span<const float> data) {
    return static_cast<int>(data.size());
}

/// MPI has no mean: a sum, which is divided afterwards.
MPI_Op mpi_op(const Call& call) {
    switch (call.op) {
        case ReduceOp::product:
            return MPI_PROD;
        case ReduceOp::min:
            return MPI_MIN;
        case ReduceOp::max:
            return MPI_MAX;
        default:
            return MPI_SUM;
    }
}

void divide_if_mean(const Call& call, std::span<float> sum) {
    if (call.op == ReduceOp::mean) {
        scale(sum, 1 / static_cast<float>(call.comm.size()));
    }
}

/// All chunks, as MPI's functions with a `v` take them.
struct Chunks {
    std::vector<int> counts;
    std::vector<int> begins;

    explicit Chunks(const Call& call) {
        for (int r = 0; r < call.comm.size(); ++r) {
            const Chunk chunk = chunk_bounds(call.data.size(), call.comm.size(), r);
            counts.push_back(static_cast<int>(chunk.size()));
            begins.push_back(static_cast<int>(chunk.begin));
        }
    }
    [[nodiscard]] bool equal() const { return counts.front() == counts.back(); }
};

}  // namespace

void naive_all_reduce(const Call& call) {
    all_reduce(call.data, call.op, call.comm);
}

void ring(const Call& call) {
    ring_all_reduce(call.data, call.op, call.comm);
}

void recursive_doubling(const Call& call) {
    recursive_doubling_all_reduce(call.data, call.op, call.comm);
}

void halving_doubling(const Call& call) {
    halving_doubling_all_reduce(call.data, call.op, call.comm);
}

void tree_all_reduce(const Call& call) {
    tree_reduce(call.data, call.op, call.root, call.comm);
    tree_broadcast(call.data, call.root, call.comm);
}

void hierarchical(const Call& call) {
    hierarchical_all_reduce(call.data, call.op, *call.nodes);
}

void automatic(const Call& call) {
    call.chosen(call);
}

void shared_memory(const Call& call) {
    shared_memory_all_reduce(*call.shared, call.op, call.comm);
}

void mpi_all_reduce(const Call& call) {
    MPI_CHECK(MPI_Allreduce(
        MPI_IN_PLACE, call.data.data(), length(call.data), MPI_FLOAT, mpi_op(call),
        call.comm.handle()
    ));
    divide_if_mean(call, call.data);
}

void naive_broadcast(const Call& call) {
    broadcast(call.data, call.root, call.comm);
}

void pipelined_broadcast(const Call& call) {
    ring_broadcast(call.data, call.root, segments_of(call.data.size_bytes()), call.comm);
}

void binomial_broadcast(const Call& call) {
    tree_broadcast(call.data, call.root, call.comm);
}

void mpi_broadcast(const Call& call) {
    MPI_CHECK(
        MPI_Bcast(call.data.data(), length(call.data), MPI_FLOAT, call.root, call.comm.handle())
    );
}

void naive_reduce(const Call& call) {
    reduce(call.data, call.op, call.root, call.comm);
}

void pipelined_reduce(const Call& call) {
    ring_reduce(call.data, call.op, call.root, segments_of(call.data.size_bytes()), call.comm);
}

void binomial_reduce(const Call& call) {
    tree_reduce(call.data, call.op, call.root, call.comm);
}

void mpi_reduce(const Call& call) {
    MPI_CHECK(MPI_Reduce(
        call.in.data(), call.data.data(), length(call.data), MPI_FLOAT, mpi_op(call), call.root,
        call.comm.handle()
    ));
    divide_if_mean(call, call.data);
}

void naive_scatter(const Call& call) {
    scatter(call.in, chunk(call.data, call.comm), call.root, call.comm);
}

void mpi_scatter(const Call& call) {
    const Chunks chunks(call);
    const std::span<float> out = chunk(call.data, call.comm);
    if (chunks.equal()) {
        MPI_CHECK(MPI_Scatter(
            call.in.data(), length(out), MPI_FLOAT, out.data(), length(out), MPI_FLOAT, call.root,
            call.comm.handle()
        ));
    } else {
        MPI_CHECK(MPI_Scatterv(
            call.in.data(), chunks.counts.data(), chunks.begins.data(), MPI_FLOAT, out.data(),
            length(out), MPI_FLOAT, call.root, call.comm.handle()
        ));
    }
}

void naive_gather(const Call& call) {
    gather(chunk(call.in, call.comm), call.data, call.root, call.comm);
}

void mpi_gather(const Call& call) {
    const Chunks chunks(call);
    const std::span<const float> in = chunk(call.in, call.comm);
    if (chunks.equal()) {
        MPI_CHECK(MPI_Gather(
            in.data(), length(in), MPI_FLOAT, call.data.data(), length(in), MPI_FLOAT, call.root,
            call.comm.handle()
        ));
    } else {
        MPI_CHECK(MPI_Gatherv(
            in.data(), length(in), MPI_FLOAT, call.data.data(), chunks.counts.data(),
            chunks.begins.data(), MPI_FLOAT, call.root, call.comm.handle()
        ));
    }
}

void naive_all_gather(const Call& call) {
    all_gather(chunk(call.in, call.comm), call.data, call.comm);
}

void chunks_around(const Call& call) {
    ring_all_gather(call.data, call.comm);
}

void mpi_all_gather(const Call& call) {
    const Chunks chunks(call);
    const std::span<const float> in = chunk(call.in, call.comm);
    if (chunks.equal()) {
        MPI_CHECK(MPI_Allgather(
            in.data(), length(in), MPI_FLOAT, call.data.data(), length(in), MPI_FLOAT,
            call.comm.handle()
        ));
    } else {
        MPI_CHECK(MPI_Allgatherv(
            in.data(), length(in), MPI_FLOAT, call.data.data(), chunks.counts.data(),
            chunks.begins.data(), MPI_FLOAT, call.comm.handle()
        ));
    }
}

void naive_reduce_scatter(const Call& call) {
    reduce_scatter(call.in, chunk(call.data, call.comm), call.op, call.comm);
}

void sums_around(const Call& call) {
    ring_reduce_scatter(call.data, call.op, call.comm);
}

void mpi_reduce_scatter(const Call& call) {
    MPI_CHECK(MPI_Reduce_scatter(
        call.in.data(), chunk(call.data, call.comm).data(), Chunks(call).counts.data(), MPI_FLOAT,
        mpi_op(call), call.comm.handle()
    ));
    divide_if_mean(call, chunk(call.data, call.comm));
}

void pairwise(const Call& call) {
    const std::size_t n =
        call.data.size() - call.data.size() % static_cast<std::size_t>(call.comm.size());
    all_to_all(call.in.first(n), call.data.first(n), call.comm);
}

void mpi_all_to_all(const Call& call) {
    const int m = length(call.data) / call.comm.size();
    MPI_CHECK(MPI_Alltoall(
        call.in.data(), m, MPI_FLOAT, call.data.data(), m, MPI_FLOAT, call.comm.handle()
    ));
}

void naive_barrier(const Call& call) {
    barrier(call.comm);
}

void dissemination(const Call& call) {
    dissemination_barrier(call.comm);
}

void mpi_barrier(const Call& call) {
    MPI_CHECK(MPI_Barrier(call.comm.handle()));
}

}  // namespace dist::lab
