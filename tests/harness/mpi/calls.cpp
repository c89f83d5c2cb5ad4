#include "tests/harness/mpi/calls.hpp"

#include "course/protocol/counted.hpp"
#include "tests/harness/job/memory.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

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

Collective pass_gate(const char* name, MPI_Comm comm, int root, long n_bytes, bool wait) {
    const std::string text = signature(name, root, n_bytes);
    if (!guarded()) {
        return {text, comm, 0};
    }
    check_allowed(name, comm, true);
    count_collective();
    return {text, comm, arrive(comm, text, wait)};
}

}  // namespace

long bytes(long count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return count * size;
}

Collective enter(const char* name, MPI_Comm comm, int root, long n_bytes) {
    return pass_gate(name, comm, root, n_bytes, true);
}

Collective start(const char* name, MPI_Comm comm, int root, long n_bytes) {
    return pass_gate(name, comm, root, n_bytes, false);
}

Collective join(const char* name, MPI_Comm comm) {
    if (!guarded()) {
        return {name, comm, 0};
    }
    check_made(name);
    count_communicator();
    return {name, comm, arrive(comm, name)};
}

int Collective::left(int code) const {
    late_delay();
    return code;
}

int Collective::started(int code, const MPI_Request* request) const {
    if (number_ != 0) {
        adopt_request(*request, signature_, comm_, number_);
    }
    return code;
}

int Collective::made(int code, const MPI_Comm* made) const {
    if (number_ != 0 && code == MPI_SUCCESS && *made != MPI_COMM_NULL) {
        declare_group(*made, group_of(comm_).id, number_);
        note_made(*made, signature_);
    }
    return code;
}

void refuse_call(const char* name, const char* sentence) {
    if (guarded()) {
        check_allowed(name, MPI_COMM_NULL);
        refuse(name, sentence);
    }
}

void refuse_collective(const char* name, const char* sentence) {
    if (guarded()) {
        check_allowed(name, MPI_COMM_NULL, true);
        refuse(name, sentence);
    }
}

}  // namespace dist::harness

extern "C" {

int MPI_Comm_free(MPI_Comm* c) {
    using namespace dist::harness;
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Comm_free(c);
    }
    // MPI frees collectively, and a rank that unwinds after a stop would wait for ever: it only
    // lets go.
    note_freed(*c);
    forget_group(*c);
    *c = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Win_allocate_shared(
    MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* win
) {
    using namespace dist::harness;
    const Uncounted layer;
    const Collective call = join("MPI_Win_allocate_shared", c);
    return made(
        "MPI_Win_allocate_shared", PMPI_Win_allocate_shared(size, unit, info, c, base, win), win
    );
}

int MPI_Win_free(MPI_Win* win) {
    using namespace dist::harness;
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Win_free(win);
    }
    note_freed(*win);
    *win = MPI_WIN_NULL;  // as above: collective, and a rank that unwinds would wait
    return MPI_SUCCESS;
}

}  // extern "C"
