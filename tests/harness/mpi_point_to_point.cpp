// The profiling layer, first half: every point-to-point call that code under test makes comes here.
// Outside of a test body the calls pass straight through. The harness itself calls PMPI_* only.

#include <cstring>

#include <mpi.h>

#include "tests/harness/allowed.hpp"
#include "tests/harness/messages.hpp"
#include "tests/harness/roll_call.hpp"

using namespace dist::harness;

namespace {

MPI_Status* element(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int send_and_wait(
    const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm, const char* name
) {
    check_allowed(name, comm);
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
    *request = post_send(data, n, type, dst, tag, comm, name);
    return MPI_SUCCESS;
}

void note_unsuccessful(MPI_Request request, const char* name) {
    const RequestText text = describe(request);
    unsuccessful_test(std::string(name) + " on " + text.call, text.peer, text.tag);
}

// Looks at each request once; the index of one that is done, or -1; `active` counts those not null.
int find_done(int n, MPI_Request requests[], MPI_Status* status, int* active, int* code) {
    *active = 0;
    for (int i = 0; i < n; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        ++*active;
        bool done = false;
        *code = test_request(&requests[i], &done, status);
        if (done) {
            return i;
        }
    }
    return -1;
}

// Waits for any of the requests. Returns its index, or MPI_UNDEFINED if all are null.
int wait_any(int n, MPI_Request requests[], MPI_Status* status, int* code, const char* name) {
    int active = 0;
    int index = find_done(n, requests, status, &active, code);
    if (index >= 0 || active == 0) {
        return index >= 0 ? index : MPI_UNDEFINED;
    }
    RequestText text;
    for (int i = n - 1; i >= 0; --i) {
        text = requests[i] == MPI_REQUEST_NULL ? text : describe(requests[i]);
    }
    Wait wait(std::string(name) + ": " + text.call, text.peer, text.tag);
    while (index < 0) {
        wait.poll();
        index = find_done(n, requests, status, &active, code);
    }
    return index;
}

}  // namespace

extern "C" {

int MPI_Send(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Send")
                     : PMPI_Send(b, n, t, dst, tag, c);
}
int MPI_Ssend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Ssend")
                     : PMPI_Ssend(b, n, t, dst, tag, c);
}
int MPI_Rsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return guarded() ? send_and_wait(b, n, t, dst, tag, c, "MPI_Rsend")
                     : PMPI_Rsend(b, n, t, dst, tag, c);
}
int MPI_Isend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Isend")
                     : PMPI_Isend(b, n, t, dst, tag, c, r);
}
int MPI_Issend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Issend")
                     : PMPI_Issend(b, n, t, dst, tag, c, r);
}
int MPI_Irsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    return guarded() ? start_send(b, n, t, dst, tag, c, r, "MPI_Irsend")
                     : PMPI_Irsend(b, n, t, dst, tag, c, r);
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* s) {
    if (!guarded()) {
        return PMPI_Recv(b, n, t, src, tag, c, s);
    }
    check_allowed("MPI_Recv", c);
    MPI_Request request = post_receive(b, n, t, src, tag, c, "MPI_Recv");
    return wait_request(&request, s);
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Request* r) {
    if (!guarded()) {
        return PMPI_Irecv(b, n, t, src, tag, c, r);
    }
    check_allowed("MPI_Irecv", c);
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
    if (!guarded()) {
        return PMPI_Sendrecv(sb, sn, st, dst, stag, rb, rn, rt, src, rtag, c, s);
    }
    check_allowed("MPI_Sendrecv", c);
    MPI_Request receive = post_receive(rb, rn, rt, src, rtag, c, "MPI_Sendrecv");
    MPI_Request send = post_send(sb, sn, st, dst, stag, c, "MPI_Sendrecv");
    const int received = wait_request(&receive, s);
    const int sent = wait_request(&send, MPI_STATUS_IGNORE);
    return received != MPI_SUCCESS ? received : sent;
}
int MPI_Sendrecv_replace(
    void* b, int n, MPI_Datatype t, int dst, int stag, int src, int rtag, MPI_Comm c, MPI_Status* s
) {
    if (!guarded()) {
        return PMPI_Sendrecv_replace(b, n, t, dst, stag, src, rtag, c, s);
    }
    check_allowed("MPI_Sendrecv_replace", c);
    // The layer copies both ways (Note [Staging]), so the same buffer may serve for both.
    MPI_Request send = post_send(b, n, t, dst, stag, c, "MPI_Sendrecv_replace");
    MPI_Request receive = post_receive(b, n, t, src, rtag, c, "MPI_Sendrecv_replace");
    const int received = wait_request(&receive, s);
    const int sent = wait_request(&send, MPI_STATUS_IGNORE);
    return received != MPI_SUCCESS ? received : sent;
}

int MPI_Wait(MPI_Request* r, MPI_Status* s) {
    return guarded() && *r != MPI_REQUEST_NULL ? wait_request(r, s) : PMPI_Wait(r, s);
}
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
    if (!guarded()) {
        return PMPI_Waitall(n, r, s);
    }
    int worst = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
        if (const int code = MPI_Wait(&r[i], element(s, i)); code != MPI_SUCCESS) {
            worst = code;
        }
    }
    return worst;
}
int MPI_Waitany(int n, MPI_Request r[], int* index, MPI_Status* s) {
    if (!guarded()) {
        return PMPI_Waitany(n, r, index, s);
    }
    int code = MPI_SUCCESS;
    *index = wait_any(n, r, s, &code, "MPI_Waitany");
    return code;
}
int MPI_Waitsome(int n, MPI_Request r[], int* count, int indices[], MPI_Status s[]) {
    if (!guarded()) {
        return PMPI_Waitsome(n, r, count, indices, s);
    }
    int code = MPI_SUCCESS;
    indices[0] = wait_any(n, r, element(s, 0), &code, "MPI_Waitsome");
    *count = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
    return code;
}

int MPI_Test(MPI_Request* r, int* flag, MPI_Status* s) {
    if (!guarded() || *r == MPI_REQUEST_NULL) {
        return PMPI_Test(r, flag, s);
    }
    bool done = false;
    const int code = test_request(r, &done, s);
    *flag = done ? 1 : 0;
    if (!done) {
        note_unsuccessful(*r, "MPI_Test");
    }
    return code;
}
int MPI_Testany(int n, MPI_Request r[], int* index, int* flag, MPI_Status* s) {
    if (!guarded()) {
        return PMPI_Testany(n, r, index, flag, s);
    }
    int active = 0;
    int code = MPI_SUCCESS;
    *index = find_done(n, r, s, &active, &code);
    *flag = *index >= 0 || active == 0 ? 1 : 0;
    if (*index < 0) {
        *index = MPI_UNDEFINED;
    }
    if (*flag == 0) {
        unsuccessful_test("MPI_Testany", -1, -1);
    }
    return code;
}
int MPI_Testsome(int n, MPI_Request r[], int* count, int indices[], MPI_Status s[]) {
    if (!guarded()) {
        return PMPI_Testsome(n, r, count, indices, s);
    }
    int flag = 0;
    const int code = MPI_Testany(n, r, &indices[0], &flag, element(s, 0));
    *count = flag == 0 ? 0 : (indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1);
    return code;
}
int MPI_Testall(int n, MPI_Request r[], int* flag, MPI_Status s[]) {
    if (!guarded()) {
        return PMPI_Testall(n, r, flag, s);
    }
    // MPI completes all or none: look without completing first.
    for (int i = 0; i < n; ++i) {
        MPI_Status local;
        PMPI_Request_get_status(r[i], flag, &local);
        if (*flag == 0) {
            note_unsuccessful(r[i], "MPI_Testall");
            return MPI_SUCCESS;
        }
    }
    *flag = 1;
    return MPI_Waitall(n, r, s);
}
int MPI_Request_free(MPI_Request* r) {
    if (!guarded()) {
        return PMPI_Request_free(r);
    }
    forget_request(r);
    return MPI_SUCCESS;
}

int MPI_Probe(int src, int tag, MPI_Comm c, MPI_Status* s) {
    if (!guarded()) {
        return PMPI_Probe(src, tag, c, s);
    }
    check_allowed("MPI_Probe", c);
    bool found = false;
    return probe(src, tag, c, true, &found, nullptr, s, "MPI_Probe");
}
int MPI_Iprobe(int src, int tag, MPI_Comm c, int* flag, MPI_Status* s) {
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
    if (!guarded()) {
        return PMPI_Mprobe(src, tag, c, m, s);
    }
    check_allowed("MPI_Mprobe", c);
    bool found = false;
    return probe(src, tag, c, true, &found, m, s, "MPI_Mprobe");
}
int MPI_Improbe(int src, int tag, MPI_Comm c, int* flag, MPI_Message* m, MPI_Status* s) {
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
    if (!guarded()) {
        return PMPI_Mrecv(b, n, t, m, s);
    }
    MPI_Request request = post_matched_receive(b, n, t, m, "MPI_Mrecv");
    return wait_request(&request, s);
}
int MPI_Imrecv(void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Request* r) {
    if (!guarded()) {
        return PMPI_Imrecv(b, n, t, m, r);
    }
    *r = post_matched_receive(b, n, t, m, "MPI_Imrecv");
    return MPI_SUCCESS;
}

}  // extern "C"
