#include "course/simulate/ranks/counted_calls.hpp"

#include <mpi.h>

namespace dist::simulation {
namespace {

void count(int n, MPI_Datatype type, int dst) {
    if (dst != MPI_PROC_NULL) {
        int size = 0;
        PMPI_Type_size(type, &size);
        sent().messages += 1;
        sent().bytes += static_cast<long>(n) * size;
    }
}

}  // namespace

Sent& sent() {
    static Sent all;
    return all;
}

}  // namespace dist::simulation

using dist::simulation::count;

extern "C" {

int MPI_Send(const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    count(n, type, dst);
    return PMPI_Send(data, n, type, dst, tag, comm);
}

int MPI_Ssend(const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    count(n, type, dst);
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
    count(n, type, dst);
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
    count(n, type, dst);
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
    count(out_n, out_type, dst);
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
    count(n, type, dst);
    return PMPI_Sendrecv_replace(data, n, type, dst, out_tag, src, in_tag, comm, status);
}

}  // extern "C"
