// The profiling layer, last part: calls that end the job, or that no exercise needs and the layer does
// not follow.

#include <unistd.h>

#include <mpi.h>

#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists and calls, not expressions
#define REFUSED(name, parameters, arguments, sentence) \
    int MPI_##name parameters {                        \
        if (guarded()) {                               \
            refuse("MPI_" #name, sentence);            \
        }                                              \
        return PMPI_##name arguments;                  \
    }

extern "C" {

REFUSED(Finalize, (void), (), "The test ends MPI; your function must not.")
REFUSED(Init, (int* argc, char*** argv), (argc, argv), "The test has started MPI already.")
REFUSED(
    Init_thread,
    (int* argc, char*** argv, int required, int* provided),
    (argc, argv, required, provided),
    "The test has started MPI already."
)
REFUSED(
    Buffer_attach,
    (void* b, int n),
    (b, n),
    "Buffered sends hide deadlocks; use MPI_Send or MPI_Isend."
)
REFUSED(
    Bsend,
    (const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c),
    (b, n, t, dst, tag, c),
    "Buffered sends hide deadlocks; use MPI_Send or MPI_Isend."
)
REFUSED(
    Ibsend,
    (const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r),
    (b, n, t, dst, tag, c, r),
    "Buffered sends hide deadlocks; use MPI_Send or MPI_Isend."
)
REFUSED(
    Request_free,
    (MPI_Request * r),
    (r),
    "Nobody can know then when the buffer may be used again; wait for the request."
)
REFUSED(
    Cancel,
    (MPI_Request * r),
    (r),
    "The course's tests do not follow a message that is called off; wait for the request."
)
REFUSED(
    Send_init,
    (const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r),
    (b, n, t, dst, tag, c, r),
    "The course's tests do not follow persistent requests; use MPI_Isend."
)
REFUSED(
    Ssend_init,
    (const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r),
    (b, n, t, dst, tag, c, r),
    "The course's tests do not follow persistent requests; use MPI_Isend."
)
REFUSED(
    Recv_init,
    (void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Request* r),
    (b, n, t, src, tag, c, r),
    "The course's tests do not follow persistent requests; use MPI_Irecv."
)

int MPI_Abort(MPI_Comm c, int code) {
    if (!guarded()) {
        return PMPI_Abort(c, code);
    }
    my_slot().end_code = code;
    capture_frames(my_slot().end_frames);
    my_slot().end = End::aborted;
    _exit(1);
}

}  // extern "C"
// NOLINTEND(bugprone-macro-parentheses)
