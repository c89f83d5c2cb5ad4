// A small MPI on the transport of chapter 04: what the course's own code calls, and no more. A call that is declared
// here and stands nowhere does not link: it is one that needs memory shared by processes.
//
// A program that is built with it starts without mpirun: the environment says RANK and WORLD_SIZE, and where the
// store is, MASTER_ADDR and MASTER_PORT, as torchrun has it. Names and meanings are those of the MPI standard 3.1.
#pragma once

#include <cstddef>
#include <cstdint>

struct OwnComm;
struct OwnRequest;

using MPI_Comm = OwnComm*;
using MPI_Request = OwnRequest*;
using MPI_Aint = std::intptr_t;

/// What has come, or waits to be received.
struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    std::size_t bytes;
};

extern const MPI_Comm own_world;
#define MPI_COMM_WORLD own_world
inline constexpr MPI_Comm MPI_COMM_NULL = nullptr;
inline constexpr MPI_Request MPI_REQUEST_NULL = nullptr;
#define MPI_STATUS_IGNORE (static_cast<MPI_Status*>(nullptr))
extern const char own_in_place;
#define MPI_IN_PLACE (static_cast<const void*>(&own_in_place))

enum MPI_Datatype {
    MPI_CHAR,
    MPI_BYTE,
    MPI_INT,
    MPI_UINT32_T,
    MPI_LONG,
    MPI_UINT64_T,
    MPI_FLOAT,
    MPI_DOUBLE
};
inline constexpr MPI_Datatype MPI_UNSIGNED = MPI_UINT32_T;
enum MPI_Op { MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX };
enum MPI_Errhandler { MPI_ERRORS_RETURN };

inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_ERR_OTHER = 15;
inline constexpr int MPI_MAX_ERROR_STRING = 256;
inline constexpr int MPI_PROC_NULL = -2;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_THREAD_MULTIPLE = 3;

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Finalize();
int MPI_Abort(MPI_Comm comm, int code);
double MPI_Wtime();

/// Of a code, the text of the last call of this thread that failed.
int MPI_Error_string(int code, char* text, int* length);
int MPI_Type_size(MPI_Datatype type, int* size);

int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);

/// Failed calls return a code always: nothing is left to set.
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);

int MPI_Send(const void* data, int count, MPI_Datatype type, int dst, int tag, MPI_Comm comm);
int MPI_Recv(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, MPI_Status* status
);
int MPI_Isend(
    const void* data,
    int count,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request
);
int MPI_Irecv(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, MPI_Request* request
);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Test(MPI_Request* request, int* is_done, MPI_Status* status);
int MPI_Probe(int src, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);
int MPI_Sendrecv(
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
);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Gather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    int root,
    MPI_Comm comm
);
int MPI_Allgather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    MPI_Comm comm
);
int MPI_Allreduce(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
);

// Begun and at once through: for who waits for them in a way of its own.
int PMPI_Ibcast(
    void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request
);
int PMPI_Iallgather(
    const void* in,
    int in_count,
    MPI_Datatype in_type,
    void* out,
    int out_count,
    MPI_Datatype out_type,
    MPI_Comm comm,
    MPI_Request* request
);
int PMPI_Iallreduce(
    const void* in,
    void* out,
    int count,
    MPI_Datatype type,
    MPI_Op op,
    MPI_Comm comm,
    MPI_Request* request
);

// The other names of all these.
extern decltype(MPI_Init_thread) PMPI_Init_thread;
extern decltype(MPI_Finalize) PMPI_Finalize;
extern decltype(MPI_Abort) PMPI_Abort;
extern decltype(MPI_Wtime) PMPI_Wtime;
extern decltype(MPI_Error_string) PMPI_Error_string;
extern decltype(MPI_Type_size) PMPI_Type_size;
extern decltype(MPI_Comm_rank) PMPI_Comm_rank;
extern decltype(MPI_Comm_size) PMPI_Comm_size;
extern decltype(MPI_Comm_split) PMPI_Comm_split;
extern decltype(MPI_Comm_dup) PMPI_Comm_dup;
extern decltype(MPI_Comm_free) PMPI_Comm_free;
extern decltype(MPI_Comm_set_errhandler) PMPI_Comm_set_errhandler;
extern decltype(MPI_Send) PMPI_Send;
extern decltype(MPI_Recv) PMPI_Recv;
extern decltype(MPI_Isend) PMPI_Isend;
extern decltype(MPI_Irecv) PMPI_Irecv;
extern decltype(MPI_Wait) PMPI_Wait;
extern decltype(MPI_Test) PMPI_Test;
extern decltype(MPI_Probe) PMPI_Probe;
extern decltype(MPI_Get_count) PMPI_Get_count;
extern decltype(MPI_Sendrecv) PMPI_Sendrecv;
extern decltype(MPI_Barrier) PMPI_Barrier;
extern decltype(MPI_Bcast) PMPI_Bcast;
extern decltype(MPI_Gather) PMPI_Gather;
extern decltype(MPI_Allgather) PMPI_Allgather;
extern decltype(MPI_Allreduce) PMPI_Allreduce;

}  // extern "C"

// Memory that processes share: declared for shared_buffer.hpp, and nowhere else.
using MPI_Win = struct OwnWindow*;
using MPI_Info = struct OwnInfo*;
inline constexpr MPI_Win MPI_WIN_NULL = nullptr;
inline constexpr MPI_Info MPI_INFO_NULL = nullptr;
inline constexpr int MPI_MODE_NOCHECK = 1;
inline constexpr int MPI_COMM_TYPE_SHARED = 0;
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made);
int MPI_Win_allocate_shared(
    MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win
);
int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* bytes, int* unit, void* base);
int MPI_Win_lock_all(int assertion, MPI_Win win);
int MPI_Win_unlock_all(MPI_Win win);
int MPI_Win_sync(MPI_Win win);
int MPI_Win_free(MPI_Win* win);
