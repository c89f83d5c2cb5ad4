// How each algorithm is called: from one Call, whatever its arguments are.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/reduce_op.hpp"
#include "course/runtime/shared_buffer.hpp"
#include "exercises/04_groups_and_rendezvous/hierarchical_all_reduce.hpp"

namespace dist::lab {

struct Call;
using Run = void (*)(const Call&);

/// What every algorithm is called with; each takes from it what it needs. Of collectives by chunks, rank r's is
/// chunk_bounds(n, p, r) of `data`; all_to_all leaves out what p does not divide.
struct Call {
    std::span<float> data;      // in: this rank's contribution, out: the result
    std::span<const float> in;  // the contribution once more, for what does not work in place
    ReduceOp op;
    int root;
    const Communicator& comm;
    SharedBuffer* shared = nullptr;  // for algorithms in shared memory: data is this rank's part
    Run chosen = nullptr;            // what `auto` is to run: see choice.hpp
    const Nodes* nodes = nullptr;    // of these ranks, for algorithms that need them
};

void naive_all_reduce(const Call& call);
void ring(const Call& call);
void recursive_doubling(const Call& call);
void halving_doubling(const Call& call);
void tree_all_reduce(const Call& call);
void hierarchical(const Call& call);
void automatic(const Call& call);
void shared_memory(const Call& call);
void mpi_all_reduce(const Call& call);

void naive_broadcast(const Call& call);
void pipelined_broadcast(const Call& call);
void binomial_broadcast(const Call& call);
void mpi_broadcast(const Call& call);

void naive_reduce(const Call& call);
void pipelined_reduce(const Call& call);
void binomial_reduce(const Call& call);
void mpi_reduce(const Call& call);

void naive_scatter(const Call& call);
void mpi_scatter(const Call& call);

void naive_gather(const Call& call);
void mpi_gather(const Call& call);

void naive_all_gather(const Call& call);
void chunks_around(const Call& call);
void mpi_all_gather(const Call& call);

void naive_reduce_scatter(const Call& call);
void sums_around(const Call& call);
void mpi_reduce_scatter(const Call& call);

void pairwise(const Call& call);
void mpi_all_to_all(const Call& call);

void naive_barrier(const Call& call);
void dissemination(const Call& call);
void mpi_barrier(const Call& call);

}  // namespace dist::lab
