#include "course/simulate/ranks/counted_calls.hpp"

#include <mpi.h>

namespace dist::simulation {
namespace {

int rank_in_world(int rank, MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int in_world = 0;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &in_world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return in_world;
}

bool crosses(int dst, MPI_Comm comm) {
    const int per_node = ranks_per_node();
    if (per_node == 0) {
        return false;
    }
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank_in_world(rank, comm) / per_node != rank_in_world(dst, comm) / per_node;
}

void count(int n, MPI_Datatype type, int dst, MPI_Comm comm) {
    if (dst != MPI_PROC_NULL) {
        int size = 0;
        PMPI_Type_size(type, &size);
        const long bytes = static_cast<long>(n) * size;
        sent().messages += 1;
        sent().bytes += bytes;
        sent().crossing += crosses(dst, comm) ? bytes : 0;
    }
}

}  // namespace

Sent& sent() {
    static Sent all;
    return all;
}

int& ranks_per_node() {
    static int ranks = 0;
    return ranks;
}

}  // namespace dist::simulation

using dist::simulation::count;

extern "C" {

int MPI_Send(const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    count(n, type, dst, comm);
    return PMPI_Send(data, n, type, dst, tag, comm);
}

int MPI_Ssend(const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    count(n, type, dst, comm);
    return PMPI_Ssend(data, n, type, dst, tag, comm);
}

int MPI_Isend(
    const void* data,
    int n,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request
) {
    count(n, type, dst, comm);
    return PMPI_Isend(data, n, type, dst, tag, comm, request);
}

int MPI_Issend(
    const void* data,
    int n,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request
) {
    count(n, type, dst, comm);
    return PMPI_Issend(data, n, type, dst, tag, comm, request);
}

int MPI_Sendrecv(
    const void* out,
    int out_n,
    MPI_Datatype out_type,
    int dst,
    int out_tag,
    void* in,
    int in_n,
    MPI_Datatype in_type,
    int src,
    int in_tag,
    MPI_Comm comm,
    MPI_Status* status
) {
    count(out_n, out_type, dst, comm);
    return PMPI_Sendrecv(
        out, out_n, out_type, dst, out_tag, in, in_n, in_type, src, in_tag, comm, status
    );
}

int MPI_Sendrecv_replace(
    void* data,
    int n,
    MPI_Datatype type,
    int dst,
    int out_tag,
    int src,
    int in_tag,
    MPI_Comm comm,
    MPI_Status* status
) {
    count(n, type, dst, comm);
    return PMPI_Sendrecv_replace(data, n, type, dst, out_tag, src, in_tag, comm, status);
}

}  // extern "C"
