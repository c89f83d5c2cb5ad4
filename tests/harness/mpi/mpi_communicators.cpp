// The profiling layer, fourth part: communicators and windows, which are made and freed by all ranks of
// one together.

#include <mpi.h>

#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

namespace {

// A communicator was made from `parent` at its collective number `count`.
int made(MPI_Comm parent, std::uint64_t count, MPI_Comm* comm, int code) {
    if (guarded() && code == MPI_SUCCESS) {
        declare_group(*comm, group_of(parent).id, count);
    }
    return code;
}

}  // namespace

extern "C" {

int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm* out) {
    const std::uint64_t count = guarded() ? arrive(c, "MPI_Comm_split") : 0;
    return made(c, count, out, PMPI_Comm_split(c, color, key, out));
}
int MPI_Comm_dup(MPI_Comm c, MPI_Comm* out) {
    const std::uint64_t count = guarded() ? arrive(c, "MPI_Comm_dup") : 0;
    return made(c, count, out, PMPI_Comm_dup(c, out));
}
int MPI_Comm_create(MPI_Comm c, MPI_Group group, MPI_Comm* out) {
    const std::uint64_t count = guarded() ? arrive(c, "MPI_Comm_create") : 0;
    return made(c, count, out, PMPI_Comm_create(c, group, out));
}
int MPI_Comm_split_type(MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm* out) {
    const std::uint64_t count = guarded() ? arrive(c, "MPI_Comm_split_type") : 0;
    return made(c, count, out, PMPI_Comm_split_type(c, type, key, info, out));
}
int MPI_Comm_free(MPI_Comm* c) {
    if (!guarded()) {
        return PMPI_Comm_free(c);
    }
    // MPI frees collectively, and a rank that unwinds after a stop would wait for ever: it only
    // lets go.
    forget_group(*c);
    *c = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Win_allocate_shared(
    MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* win
) {
    if (guarded()) {
        arrive(c, "MPI_Win_allocate_shared");
    }
    return PMPI_Win_allocate_shared(size, unit, info, c, base, win);
}

int MPI_Win_free(MPI_Win* win) {
    if (!guarded()) {
        return PMPI_Win_free(win);
    }
    *win = MPI_WIN_NULL;  // as above: collective, and a rank that unwinds would wait
    return MPI_SUCCESS;
}

}  // extern "C"
