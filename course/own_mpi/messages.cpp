// Messages, on the transport's. A rank of a communicator is a rank of the transport, and its context a group.
#include <algorithm>
#include <memory>
#include <utility>

#include "course/own_mpi/own_mpi.hpp"

namespace dist::own_mpi {
namespace {

int world_rank(int rank, MPI_Comm comm) {
    expects(
        0 <= rank && rank < static_cast<int>(comm->ranks.size()),
        "there is no such rank in the communicator"
    );
    return comm->ranks[static_cast<std::size_t>(rank)];
}

void note(const Arrival& arrival, const OwnComm& comm, MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) {
        const auto at = std::ranges::find(comm.ranks, arrival.src);
        *status = {
            static_cast<int>(at - comm.ranks.begin()), arrival.tag, MPI_SUCCESS, arrival.bytes};
    }
}

void note_nobody(MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) {
        *status = {MPI_PROC_NULL, 0, MPI_SUCCESS, 0};
    }
}

}  // namespace
}  // namespace dist::own_mpi

using namespace dist::own_mpi;

int PMPI_Isend(
    const void* data,
    int count,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request
) {
    return code_of([&] {
        *request = MPI_REQUEST_NULL;
        if (dst != MPI_PROC_NULL) {
            const auto begun = transport().isend(
                bytes(data, count, type), world_rank(dst, comm), comm->context, tag
            );
            *request = new OwnRequest{begun, comm};
        }
    });
}

int PMPI_Irecv(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, MPI_Request* request
) {
    return code_of([&] {
        *request = MPI_REQUEST_NULL;
        if (src != MPI_PROC_NULL) {
            const auto begun = transport().irecv(
                bytes(data, count, type), world_rank(src, comm), comm->context, tag
            );
            *request = new OwnRequest{begun, comm};
        }
    });
}

int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
    return code_of([&] {
        note_nobody(status);
        if (*request != MPI_REQUEST_NULL) {
            const std::unique_ptr<OwnRequest> begun(std::exchange(*request, MPI_REQUEST_NULL));
            note(transport().wait(begun->request), *begun->comm, status);
        }
    });
}

int PMPI_Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    *is_done = 1;
    const int code = code_of([&] {
        if (*request != MPI_REQUEST_NULL) {
            *is_done = transport().test((*request)->request) ? 1 : 0;
        }
    });
    return code == MPI_SUCCESS && *is_done == 0 ? code : PMPI_Wait(request, status);
}

int PMPI_Send(const void* data, int count, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Isend(data, count, type, dst, tag, comm, &request);
    return code != MPI_SUCCESS ? code : PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

int PMPI_Recv(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, MPI_Status* status
) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Irecv(data, count, type, src, tag, comm, &request);
    return code != MPI_SUCCESS ? code : PMPI_Wait(&request, status);
}

int PMPI_Sendrecv(
    const void* out,
    int out_count,
    MPI_Datatype out_type,
    int dst,
    int out_tag,
    void* in,
    int in_count,
    MPI_Datatype in_type,
    int src,
    int in_tag,
    MPI_Comm comm,
    MPI_Status* status
) {
    MPI_Request receive = MPI_REQUEST_NULL;
    const int begun = PMPI_Irecv(in, in_count, in_type, src, in_tag, comm, &receive);
    const int sent =
        begun != MPI_SUCCESS ? begun : PMPI_Send(out, out_count, out_type, dst, out_tag, comm);
    const int received = PMPI_Wait(&receive, status);
    return sent != MPI_SUCCESS ? sent : received;
}

int PMPI_Probe(int src, int tag, MPI_Comm comm, MPI_Status* status) {
    return code_of([&] {
        note_nobody(status);
        if (src != MPI_PROC_NULL) {
            note(transport().probe(world_rank(src, comm), comm->context, tag), *comm, status);
        }
    });
}

int PMPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
    const std::size_t size = size_of(type);
    *count = status->bytes % size == 0 ? static_cast<int>(status->bytes / size) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

OWN_MPI(Send)
OWN_MPI(Recv)
OWN_MPI(Isend)
OWN_MPI(Irecv)
OWN_MPI(Wait)
OWN_MPI(Test)
OWN_MPI(Probe)
OWN_MPI(Get_count)
OWN_MPI(Sendrecv)
