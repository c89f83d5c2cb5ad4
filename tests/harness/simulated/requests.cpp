// Messages that are under way while their rank goes on.
#include <map>
#include <vector>

#include "tests/harness/simulated/calls.hpp"
#include "tests/harness/simulated/rank.hpp"

namespace {

using namespace dist::harness;
using namespace dist::harness::simulated;

/// A request that is under way, as its waiting call shows it.
struct UnderWay {
    RequestText text;
    MPI_Comm comm = MPI_COMM_NULL;
};
std::map<MPI_Request, UnderWay> under_way;

template <class Start>
int start(
    const char* name,
    bool is_send,
    int n,
    MPI_Datatype type,
    int rank,
    int tag,
    MPI_Comm comm,
    MPI_Request* request,
    const Start& call
) {
    const RequestText text = noted(name, is_send, rank, tag, bytes_of(n, type), comm);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    if (!is_send) {
        expect_not_probed(rank, tag, comm);
    }
    const OwnExceptions own;
    const int code = call();
    under_way[*request] = {text, comm};
    return code;
}

/// Forgets a request that is through, and notes what arrived. Ignores unknown requests.
void note_end(MPI_Request request, int code, const MPI_Status& status) {
    const auto found = under_way.find(request);
    if (found == under_way.end()) {
        return;
    }
    const UnderWay message = found->second;
    under_way.erase(found);
    if (code == MPI_SUCCESS && message.text.direction == Direction::receive) {
        note_arrival(status, message.comm, message.text.call);
    }
}

int wait_for(MPI_Request* request, MPI_Status* status) {
    const MPI_Request before = *request;
    const auto found = under_way.find(before);
    if (found == under_way.end()) {
        return PMPI_Wait(request, status);
    }
    MPI_Status got;
    const Waiting here(found->second.text);
    const int code = looked_at(PMPI_Wait(request, &got));
    note_end(before, code, got);
    give(got, status);
    return code;
}

RequestText text_of(const char* name, int n) {
    RequestText text;
    text.call = std::string(name) + "(" + std::to_string(n) + " requests)";
    return text;
}

MPI_Status* entry(MPI_Status* statuses, int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/// Some of `requests` are through: those at `indices`, whose statuses come in the same order.
template <class Call>
int some_of(
    int n, MPI_Request* requests, int* count, MPI_Status* statuses, int* indices, const Call& call
) {
    const OwnExceptions own;
    const std::vector<MPI_Request> before(requests, requests + n);
    std::vector<MPI_Status> got(static_cast<std::size_t>(n));
    const int code = looked_at(call(got.data()));
    for (int i = 0; *count != MPI_UNDEFINED && i < *count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        note_end(before[static_cast<std::size_t>(indices[i])], code, got[at]);
        give(got[at], entry(statuses, i));
    }
    return code;
}

}  // namespace

extern "C" {

int MPI_Isend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    return start("MPI_Isend", true, n, t, dst, tag, c, r, [&] {
        return PMPI_Isend(b, n, t, dst, tag, c, r);
    });
}
int MPI_Issend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c, MPI_Request* r) {
    return start("MPI_Issend", true, n, t, dst, tag, c, r, [&] {
        return PMPI_Issend(b, n, t, dst, tag, c, r);
    });
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Request* r) {
    return start("MPI_Irecv", false, n, t, src, tag, c, r, [&] {
        return PMPI_Irecv(b, n, t, src, tag, c, r);
    });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return wait_for(request, status);
}

int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
    int result = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
        const int code = wait_for(&requests[i], entry(statuses, i));
        result = result == MPI_SUCCESS ? code : result;
    }
    return result;
}

int MPI_Waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) {
    const Waiting here(text_of("MPI_Waitany", n));
    int count = 1;
    return some_of(n, requests, &count, status, index, [&](MPI_Status* got) {
        const int code = PMPI_Waitany(n, requests, index, got);
        count = *index == MPI_UNDEFINED ? 0 : 1;
        return code;
    });
}

int MPI_Waitsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses) {
    const Waiting here(text_of("MPI_Waitsome", n));
    return some_of(n, requests, count, statuses, indices, [&](MPI_Status* got) {
        return PMPI_Waitsome(n, requests, count, indices, got);
    });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    note_question("MPI_Test");
    int index = 0;
    return some_of(1, request, flag, status, &index, [&](MPI_Status* got) {
        return PMPI_Test(request, flag, got);
    });
}

int MPI_Testany(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    note_question("MPI_Testany");
    int count = 0;
    return some_of(n, requests, &count, status, index, [&](MPI_Status* got) {
        const int code = PMPI_Testany(n, requests, index, flag, got);
        count = *flag != 0 && *index != MPI_UNDEFINED ? 1 : 0;
        return code;
    });
}

int MPI_Testsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses) {
    note_question("MPI_Testsome");
    return some_of(n, requests, count, statuses, indices, [&](MPI_Status* got) {
        return PMPI_Testsome(n, requests, count, indices, got);
    });
}

int MPI_Testall(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    note_question("MPI_Testall");
    std::vector<int> all(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        all[static_cast<std::size_t>(i)] = i;
    }
    int count = 0;
    return some_of(n, requests, &count, statuses, all.data(), [&](MPI_Status* got) {
        const int code = PMPI_Testall(n, requests, flag, got);
        count = *flag != 0 ? n : 0;
        return code;
    });
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    note_question("MPI_Request_get_status");
    const OwnExceptions own;
    return PMPI_Request_get_status(request, flag, status);
}

}  // extern "C"
