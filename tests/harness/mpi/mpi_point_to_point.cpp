// The profiling layer, first part: every point-to-point call that code under test makes comes here.
// Outside of a test body the calls pass straight through. The harness itself calls PMPI_* only.

#include <mpi.h>

#include "tests/harness/job/memory.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

namespace {

int send_and_wait(
    const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm, const char* name
) {
    check_allowed(name, comm);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    MPI_Request request = post_send(data, n, type, dst, tag, comm, name);
    return wait_request(&request, MPI_STATUS_IGNORE);
}

int start_send(
    const void* data,
    int n,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request,
    const char* name
) {
    check_allowed(name, comm);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    *request = post_send(data, n, type, dst, tag, comm, name);
    return MPI_SUCCESS;
}

/// The two halves of one call; its status is the receive's.
int wait_exchange(MPI_Request receive, MPI_Request send, MPI_Status* status) {
    const int received = wait_request(&receive, status);
    const int sent = wait_request(&send, MPI_STATUS_IGNORE);
    return received != MPI_SUCCESS ? received : sent;
}

}  // namespace

extern "C" {

int MPI_Send(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    const Uncounted layer;
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Send")
                     : PMPI_Send(b, n, t, dst, tag, c);
}
int MPI_Ssend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    const Uncounted layer;
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Ssend")
                     : PMPI_Ssend(b, n, t, dst, tag, c);
}
int MPI_Rsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    const Uncounted layer;
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Rsend")
                     : PMPI_Rsend(b, n, t, dst, tag, c);
}
int MPI_Isend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    const Uncounted layer;
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Isend")
                     : PMPI_Isend(b, n, t, dst, tag, c, r);
}
int MPI_Issend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    const Uncounted layer;
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Issend")
                     : PMPI_Issend(b, n, t, dst, tag, c, r);
}
int MPI_Irsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    const Uncounted layer;
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Irsend")
                     : PMPI_Irsend(b, n, t, dst, tag, c, r);
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Recv(b, n, t, src, tag, c, s);
    }
    check_allowed("MPI_Recv", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    MPI_Request request = post_receive(b, n, t, src, tag, c, "MPI_Recv");
    return wait_request(&request, s);
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Request* r) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Irecv(b, n, t, src, tag, c, r);
    }
    check_allowed("MPI_Irecv", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    *r = post_receive(b, n, t, src, tag, c, "MPI_Irecv");
    return MPI_SUCCESS;
}

int MPI_Sendrecv(
    const void* sb,
    int sn,
    MPI_Datatype st,
    int dst,
    int stag,
    void* rb,
    int rn,
    MPI_Datatype rt,
    int src,
    int rtag,
    MPI_Comm c,
    MPI_Status* s
) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Sendrecv(sb, sn, st, dst, stag, rb, rn, rt, src, rtag, c, s);
    }
    check_allowed("MPI_Sendrecv", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    const MPI_Request receive = post_receive(rb, rn, rt, src, rtag, c, "MPI_Sendrecv");
    const MPI_Request send = post_send(sb, sn, st, dst, stag, c, "MPI_Sendrecv");
    return wait_exchange(receive, send, s);
}
int MPI_Sendrecv_replace(
    void* b, int n, MPI_Datatype t, int dst, int stag, int src, int rtag, MPI_Comm c, MPI_Status* s
) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Sendrecv_replace(b, n, t, dst, stag, src, rtag, c, s);
    }
    check_allowed("MPI_Sendrecv_replace", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    // The layer copies both ways (Note [Staging]), so the same buffer may serve for both.
    const MPI_Request send = post_send(b, n, t, dst, stag, c, "MPI_Sendrecv_replace");
    const MPI_Request receive = post_receive(b, n, t, src, rtag, c, "MPI_Sendrecv_replace");
    return wait_exchange(receive, send, s);
}

int MPI_Probe(int src, int tag, MPI_Comm c, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Probe(src, tag, c, s);
    }
    check_allowed("MPI_Probe", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    bool found = false;
    return probe(src, tag, c, true, &found, nullptr, s, "MPI_Probe");
}
int MPI_Iprobe(int src, int tag, MPI_Comm c, int* flag, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Iprobe(src, tag, c, flag, s);
    }
    check_allowed("MPI_Iprobe", c);
    bool found = false;
    const int code = probe(src, tag, c, false, &found, nullptr, s, "MPI_Iprobe");
    *flag = found ? 1 : 0;
    return code;
}
int MPI_Mprobe(int src, int tag, MPI_Comm c, MPI_Message* m, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Mprobe(src, tag, c, m, s);
    }
    check_allowed("MPI_Mprobe", c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    bool found = false;
    return probe(src, tag, c, true, &found, m, s, "MPI_Mprobe");
}
int MPI_Improbe(int src, int tag, MPI_Comm c, int* flag, MPI_Message* m, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Improbe(src, tag, c, flag, m, s);
    }
    check_allowed("MPI_Improbe", c);
    bool found = false;
    const int code = probe(src, tag, c, false, &found, m, s, "MPI_Improbe");
    *flag = found ? 1 : 0;
    return code;
}
int MPI_Mrecv(void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Mrecv(b, n, t, m, s);
    }
    MPI_Request request = post_matched_receive(b, n, t, m, "MPI_Mrecv");
    return wait_request(&request, s);
}
int MPI_Imrecv(void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Request* r) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Imrecv(b, n, t, m, r);
    }
    *r = post_matched_receive(b, n, t, m, "MPI_Imrecv");
    return MPI_SUCCESS;
}

}  // extern "C"
