// The profiling layer, third part: collectives.
//
// A collective passes the gate of groups.hpp and is then MPI's own: its internal messages are
// neither counted nor delayed. Count and type need not agree between ranks in MPI; bytes are part
// of the signature only where they must.

#include <string>

#include <mpi.h>

#include "course/protocol/counted.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

namespace {

constexpr int kNoRoot = -1;
constexpr long kAnyBytes = -1;

long bytes(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return static_cast<long>(count) * size;
}

std::string signature(const char* name, int root, long n_bytes) {
    std::string text = name;
    const char* separator = "(";
    if (root != kNoRoot) {
        text += "(root " + std::to_string(root);
        separator = ", ";
    }
    if (n_bytes != kAnyBytes) {
        text += separator + counted(n_bytes, "byte");
    }
    return text + (root != kNoRoot || n_bytes != kAnyBytes ? ")" : "");
}

// Before a collective: nobody passes alone.
std::uint64_t enter(const char* name, MPI_Comm comm, int root = kNoRoot, long n_bytes = kAnyBytes) {
    if (!guarded()) {
        return 0;
    }
    check_allowed(name, comm, true);
    count_collective();
    return arrive(comm, signature(name, root, n_bytes));
}

// Before a non-blocking collective: its number on this communicator.
std::uint64_t start(const char* name, MPI_Comm comm, int root, long n_bytes) {
    if (!guarded()) {
        return 0;
    }
    check_allowed(name, comm, true);
    count_collective();
    return arrive(comm, signature(name, root, n_bytes), false);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists and calls, not expressions
#define COLLECTIVE(name, parameters, comm, root, n_bytes, arguments) \
    int MPI_##name parameters {                                      \
        enter("MPI_" #name, comm, root, n_bytes);                    \
        const int code = PMPI_##name arguments;                      \
        late_delay();                                                \
        return code;                                                 \
    }
#define NON_BLOCKING(name, parameters, comm, root, n_bytes, arguments)                    \
    int MPI_##name parameters {                                                           \
        const std::uint64_t count = start("MPI_" #name, comm, root, n_bytes);             \
        const int code = PMPI_##name arguments;                                           \
        if (count != 0) {                                                                 \
            adopt_request(*request, signature("MPI_" #name, root, n_bytes), comm, count); \
        }                                                                                 \
        return code;                                                                      \
    }

extern "C" {

COLLECTIVE(Barrier, (MPI_Comm c), c, kNoRoot, kAnyBytes, (c))
COLLECTIVE(
    Bcast,
    (void* b, int n, MPI_Datatype t, int root, MPI_Comm c),
    c,
    root,
    bytes(n, t),
    (b, n, t, root, c)
)
COLLECTIVE(
    Reduce,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
    c,
    root,
    bytes(n, t),
    (s, r, n, t, op, root, c)
)
COLLECTIVE(
    Allreduce,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
    c,
    kNoRoot,
    bytes(n, t),
    (s, r, n, t, op, c)
)
COLLECTIVE(
    Scan,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
    c,
    kNoRoot,
    bytes(n, t),
    (s, r, n, t, op, c)
)
COLLECTIVE(
    Exscan,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
    c,
    kNoRoot,
    bytes(n, t),
    (s, r, n, t, op, c)
)
COLLECTIVE(
    Gather,
    (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm c
    ),
    c,
    root,
    kAnyBytes,
    (s, sn, st, r, rn, rt, root, c)
)
COLLECTIVE(
    Gatherv,
    (const void* s,
     int sn,
     MPI_Datatype st,
     void* r,
     const int rn[],
     const int at[],
     MPI_Datatype rt,
     int root,
     MPI_Comm c),
    c,
    root,
    kAnyBytes,
    (s, sn, st, r, rn, at, rt, root, c)
)
COLLECTIVE(
    Scatter,
    (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm c
    ),
    c,
    root,
    kAnyBytes,
    (s, sn, st, r, rn, rt, root, c)
)
COLLECTIVE(
    Scatterv,
    (const void* s,
     const int sn[],
     const int at[],
     MPI_Datatype st,
     void* r,
     int rn,
     MPI_Datatype rt,
     int root,
     MPI_Comm c),
    c,
    root,
    kAnyBytes,
    (s, sn, at, st, r, rn, rt, root, c)
)
COLLECTIVE(
    Allgather,
    (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm c),
    c,
    kNoRoot,
    bytes(rn, rt),
    (s, sn, st, r, rn, rt, c)
)
COLLECTIVE(
    Allgatherv,
    (const void* s,
     int sn,
     MPI_Datatype st,
     void* r,
     const int rn[],
     const int at[],
     MPI_Datatype rt,
     MPI_Comm c),
    c,
    kNoRoot,
    kAnyBytes,
    (s, sn, st, r, rn, at, rt, c)
)
COLLECTIVE(
    Alltoall,
    (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm c),
    c,
    kNoRoot,
    bytes(rn, rt),
    (s, sn, st, r, rn, rt, c)
)
COLLECTIVE(
    Alltoallv,
    (const void* s,
     const int sn[],
     const int sat[],
     MPI_Datatype st,
     void* r,
     const int rn[],
     const int rat[],
     MPI_Datatype rt,
     MPI_Comm c),
    c,
    kNoRoot,
    kAnyBytes,
    (s, sn, sat, st, r, rn, rat, rt, c)
)
COLLECTIVE(
    Reduce_scatter,
    (const void* s, void* r, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c),
    c,
    kNoRoot,
    kAnyBytes,
    (s, r, n, t, op, c)
)
COLLECTIVE(
    Reduce_scatter_block,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
    c,
    kNoRoot,
    bytes(n, t),
    (s, r, n, t, op, c)
)

NON_BLOCKING(Ibarrier, (MPI_Comm c, MPI_Request* request), c, kNoRoot, kAnyBytes, (c, request))
NON_BLOCKING(
    Ibcast,
    (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* request),
    c,
    root,
    bytes(n, t),
    (b, n, t, root, c, request)
)
NON_BLOCKING(
    Ireduce,
    (const void* s,
     void* r,
     int n,
     MPI_Datatype t,
     MPI_Op op,
     int root,
     MPI_Comm c,
     MPI_Request* request),
    c,
    root,
    bytes(n, t),
    (s, r, n, t, op, root, c, request)
)
NON_BLOCKING(
    Iallreduce,
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request* request),
    c,
    kNoRoot,
    bytes(n, t),
    (s, r, n, t, op, c, request)
)
NON_BLOCKING(
    Iallgather,
    (const void* s,
     int sn,
     MPI_Datatype st,
     void* r,
     int rn,
     MPI_Datatype rt,
     MPI_Comm c,
     MPI_Request* request),
    c,
    kNoRoot,
    bytes(rn, rt),
    (s, sn, st, r, rn, rt, c, request)
)

}  // extern "C"
// NOLINTEND(bugprone-macro-parentheses)
