// The profiling layer, second part: waiting for requests, and looking at them.

#include <algorithm>
#include <cstdio>
#include <span>

#include <mpi.h>

#include "tests/harness/job/memory.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

namespace {

MPI_Status* element(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

void note_unsuccessful(MPI_Request request, const char* name) {
    RequestText text = describe(request);
    text.call = std::string(name) + " on " + text.call;
    unsuccessful_test(text);
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

// Refuses requests that belong to no message: MPI itself would use them as addresses.
void check_requests(std::span<const MPI_Request> requests, const char* call) {
    leave_if_stopped();
    const auto nothing = [](MPI_Request r) { return r != MPI_REQUEST_NULL && !is_pending(r); };
    if (std::ranges::any_of(requests, nothing)) {
        refuse(
            call,
            "It was given a request that no call has made, or a copy of one that was waited for. "
            "A call that fails makes no request: look at what it returned. An empty request is "
            "MPI_REQUEST_NULL."
        );
    }
}

// Waits for any of the requests. Returns its index, or MPI_UNDEFINED if all are null.
int wait_any(int n, MPI_Request requests[], MPI_Status* status, int* code, const char* name) {
    check_requests({requests, static_cast<std::size_t>(n)}, name);
    int active = 0;
    int index = find_done(n, requests, status, &active, code);
    if (index >= 0 || active == 0) {
        return index >= 0 ? index : MPI_UNDEFINED;
    }
    RequestText text;
    for (int i = n - 1; i >= 0; --i) {
        text = requests[i] == MPI_REQUEST_NULL ? text : describe(requests[i]);
    }
    text.call = std::string(name) + ": " + text.call;
    Wait wait(text);
    while (index < 0) {
        wait.poll();
        index = find_done(n, requests, status, &active, code);
    }
    return index;
}

}  // namespace

extern "C" {

// Not a request, but of one: MPI itself says no more than "message truncated".
int MPI_Error_string(int code, char* text, int* length) {
    const Uncounted layer;
    const int result = PMPI_Error_string(code, text, length);
    const std::string more = code == MPI_ERR_TRUNCATE && guarded() ? truncation() : "";
    if (!more.empty()) {
        *length += std::snprintf(
            text + *length, static_cast<std::size_t>(MPI_MAX_ERROR_STRING - *length), ": %s",
            more.c_str()
        );
    }
    return result;
}

int MPI_Wait(MPI_Request* r, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded() || *r == MPI_REQUEST_NULL) {
        return PMPI_Wait(r, s);
    }
    check_requests({r, 1}, "MPI_Wait");
    return wait_request(r, s);
}
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Waitall(n, r, s);
    }
    check_requests({r, static_cast<std::size_t>(n)}, "MPI_Waitall");
    int worst = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
        const int code = MPI_Wait(&r[i], element(s, i));
        if (s != MPI_STATUSES_IGNORE) {
            s[i].MPI_ERROR = code;
        }
        worst = code != MPI_SUCCESS ? code : worst;
    }
    return worst;
}
int MPI_Waitany(int n, MPI_Request r[], int* index, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Waitany(n, r, index, s);
    }
    int code = MPI_SUCCESS;
    *index = wait_any(n, r, s, &code, "MPI_Waitany");
    return code;
}
int MPI_Waitsome(int n, MPI_Request r[], int* count, int indices[], MPI_Status s[]) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Waitsome(n, r, count, indices, s);
    }
    int code = MPI_SUCCESS;
    indices[0] = wait_any(n, r, element(s, 0), &code, "MPI_Waitsome");
    *count = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
    return code;
}

int MPI_Test(MPI_Request* r, int* flag, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded() || *r == MPI_REQUEST_NULL) {
        return PMPI_Test(r, flag, s);
    }
    check_requests({r, 1}, "MPI_Test");
    bool done = false;
    const int code = test_request(r, &done, s);
    *flag = done ? 1 : 0;
    if (!done) {
        note_unsuccessful(*r, "MPI_Test");
    }
    return code;
}
int MPI_Request_get_status(MPI_Request r, int* flag, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded() || r == MPI_REQUEST_NULL) {
        return PMPI_Request_get_status(r, flag, s);
    }
    check_requests({&r, 1}, "MPI_Request_get_status");
    bool done = false;
    const int code = look_at_request(r, &done, s);
    *flag = done ? 1 : 0;
    if (!done) {
        note_unsuccessful(r, "MPI_Request_get_status");
    }
    return code;
}
int MPI_Testany(int n, MPI_Request r[], int* index, int* flag, MPI_Status* s) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Testany(n, r, index, flag, s);
    }
    check_requests({r, static_cast<std::size_t>(n)}, "MPI_Testany");
    int active = 0;
    int code = MPI_SUCCESS;
    *index = find_done(n, r, s, &active, &code);
    *flag = *index >= 0 || active == 0 ? 1 : 0;
    if (*index < 0) {
        *index = MPI_UNDEFINED;
    }
    if (*flag == 0) {
        unsuccessful_test({"MPI_Testany"});
    }
    return code;
}
int MPI_Testsome(int n, MPI_Request r[], int* count, int indices[], MPI_Status s[]) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Testsome(n, r, count, indices, s);
    }
    int flag = 0;
    const int code = MPI_Testany(n, r, &indices[0], &flag, element(s, 0));
    *count = flag == 0 ? 0 : (indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1);
    return code;
}
int MPI_Testall(int n, MPI_Request r[], int* flag, MPI_Status s[]) {
    const Uncounted layer;
    if (!guarded()) {
        return PMPI_Testall(n, r, flag, s);
    }
    check_requests({r, static_cast<std::size_t>(n)}, "MPI_Testall");
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

}  // extern "C"
