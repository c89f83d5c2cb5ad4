// The few collectives that the course itself calls: through rank 0, as in chapter 02. Their messages have a context of their own.
#include <algorithm>
#include <cstring>
#include <functional>

#include "course/own_mpi/own_mpi.hpp"

namespace {

constexpr int kTag = 0;  // messages of two ranks keep their order

// The same ranks, in the context of their collectives.
OwnComm collective(MPI_Comm comm) {
    return {comm->ranks, comm->rank, comm->context + 1};
}

template <class T>
void combine(void* sum, const void* more, int count, MPI_Op op) {
    const auto* const b = static_cast<const T*>(more);
    auto* const a = static_cast<T*>(sum);
    for (int i = 0; i < count; ++i) {
        switch (op) {
            case MPI_SUM:
                a[i] += b[i];
                break;
            case MPI_PROD:
                a[i] *= b[i];
                break;
            case MPI_MIN:
                a[i] = std::min(a[i], b[i]);
                break;
            case MPI_MAX:
                a[i] = std::max(a[i], b[i]);
                break;
        }
    }
}

void combine(void* sum, const void* more, int count, MPI_Datatype type, MPI_Op op) {
    switch (type) {
        case MPI_INT:
            return combine<int>(sum, more, count, op);
        case MPI_UINT32_T:
            return combine<std::uint32_t>(sum, more, count, op);
        case MPI_LONG:
            return combine<long>(sum, more, count, op);
        case MPI_UINT64_T:
            return combine<std::uint64_t>(sum, more, count, op);
        case MPI_FLOAT:
            return combine<float>(sum, more, count, op);
        case MPI_DOUBLE:
            return combine<double>(sum, more, count, op);
        case MPI_CHAR:
        case MPI_BYTE:
            return combine<unsigned char>(sum, more, count, op);
    }
}

}  // namespace

int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    OwnComm all = collective(comm);
    if (all.rank != root) {
        return PMPI_Recv(data, count, type, root, kTag, &all, MPI_STATUS_IGNORE);
    }
    for (int r = 0; r < static_cast<int>(all.ranks.size()); ++r) {
        if (const int code = r == root ? MPI_SUCCESS : PMPI_Send(data, count, type, r, kTag, &all);
            code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

int PMPI_Gather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    int root,
    MPI_Comm comm
) {
    OwnComm all = collective(comm);
    if (all.rank != root) {
        return PMPI_Send(in, in_count, in_type, root, kTag, &all);
    }
    const std::size_t piece =
        static_cast<std::size_t>(out_count) * dist::own_mpi::size_of(out_type);
    for (int r = 0; r < static_cast<int>(all.ranks.size()); ++r) {
        void* const place = static_cast<char*>(out) + static_cast<std::size_t>(r) * piece;
        int code = MPI_SUCCESS;
        if (r != root) {
            code = PMPI_Recv(place, out_count, out_type, r, kTag, &all, MPI_STATUS_IGNORE);
        } else if (in != MPI_IN_PLACE) {
            std::memcpy(place, in, piece);
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

int PMPI_Allgather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    MPI_Comm comm
) {
    const int code = PMPI_Gather(in, in_count, in_type, out, out_count, out_type, 0, comm);
    const int all = out_count * static_cast<int>(comm->ranks.size());
    return code != MPI_SUCCESS ? code : PMPI_Bcast(out, all, out_type, 0, comm);
}

int PMPI_Allreduce(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
) {
    const std::size_t piece = static_cast<std::size_t>(count) * dist::own_mpi::size_of(type);
    const void* const mine = in == MPI_IN_PLACE ? out : in;
    std::vector<char> all(comm->rank == 0 ? piece * comm->ranks.size() : 0);
    const int code = PMPI_Gather(mine, count, type, all.data(), count, type, 0, comm);
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (comm->rank == 0) {
        std::memcpy(out, all.data(), piece);
        for (std::size_t r = 1; r < comm->ranks.size(); ++r) {
            combine(out, all.data() + r * piece, count, type, op);
        }
    }
    return PMPI_Bcast(out, count, type, 0, comm);
}

int PMPI_Barrier(MPI_Comm comm) {
    char nothing = 0;
    char all = 0;
    return PMPI_Allreduce(&nothing, &all, 1, MPI_CHAR, MPI_MAX, comm);
}

int PMPI_Ibcast(
    void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request
) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Bcast(data, count, type, root, comm);
}

int PMPI_Iallgather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    MPI_Comm comm,
    MPI_Request* request
) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Allgather(in, in_count, in_type, out, out_count, out_type, comm);
}

int PMPI_Iallreduce(
    const void* in,
    void* out,
    int count,
    MPI_Datatype type,
    MPI_Op op,
    MPI_Comm comm,
    MPI_Request* request
) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

OWN_MPI(Barrier)
OWN_MPI(Bcast)
OWN_MPI(Gather)
OWN_MPI(Allgather)
OWN_MPI(Allreduce)
