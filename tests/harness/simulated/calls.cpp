// Calls of SimGrid's MPI as the code under test makes them: noted, shown on the board where they wait, and failing where a
// test wants that. What a call does is SimGrid's.
#include <map>
#include <vector>

#include <mpi.h>

#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/known_network.hpp"
#include "tests/harness/mpi/pending.hpp"
#include "tests/harness/simulated/rank.hpp"
#include "tests/harness/words/shared_room.hpp"

using namespace dist::harness;
using dist::harness::simulated::append;
using dist::harness::simulated::exploring;
using dist::harness::simulated::messages_fail;
using dist::harness::simulated::note_call;
using dist::harness::simulated::Waiting;

namespace {

/// A request that is under way, to be told by who waits for it.
struct UnderWay {
    RequestText text;
    MPI_Comm comm = MPI_COMM_NULL;
};
std::map<MPI_Request, UnderWay> under_way;

/// Who in the world is who in `comm`.
Group members_of(MPI_Comm comm) {
    Group group;
    int size = 0;
    PMPI_Comm_size(comm, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) {
        ranks[static_cast<std::size_t>(r)] = r;
    }
    group.members = ranks;
    MPI_Group here = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &here);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(here, size, ranks.data(), world, group.members.data());
    PMPI_Comm_rank(comm, &group.rank);
    return group;
}

int bytes_of(int n, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return n * size;
}

/// When messages left, by the clock of a KnownNetwork: what a header says elsewhere.
struct Departures {
    static constexpr unsigned kUnderWay = 16;
    double at_s[kUnderWay];
    unsigned sent, received;
};
Departures& departures(int from, int to) {
    static auto* const all = static_cast<Departures(*)[kMaxRanks]>(
        shared_room("departures", sizeof(Departures) * kMaxRanks * kMaxRanks)
    );
    return all[from][to];
}

RequestText noted(const char* name, bool is_send, int rank, int tag, int bytes, MPI_Comm comm) {
    RequestText text = request_text(name, is_send, rank, tag, bytes, members_of(comm));
    if (messages_fail()) {
        return text;
    }
    if (is_send && text.peer >= 0) {
        Departures& to = departures(world_rank(), text.peer);
        to.at_s[to.sent++ % Departures::kUnderWay] = departure_s();
    }
    note_call(text.call);
    return text;
}

/// A message is there.
void note_arrival(const MPI_Status& status, MPI_Comm comm, const std::string& call) {
    const int from = members_of(comm).world_rank(status.MPI_SOURCE);
    if (from < 0) {
        return;
    }
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    Departures& here = departures(from, world_rank());
    note_delivery(here.at_s[here.received++ % Departures::kUnderWay], bytes);
    if (!exploring()) {
        const dist::simulation::Message message{from, world_rank(), status.MPI_TAG, bytes, call};
        append(dist::simulation::kMessagesFile, nlohmann::json(message).dump());
    }
}

void give(const MPI_Status& status, MPI_Status* to) {
    if (to != MPI_STATUS_IGNORE) {
        *to = status;
    }
}

/// The checker takes a message that is longer than its room for a fault of the program, whatever the program does about it.
int looked_at(int code) {
    if (code != MPI_SUCCESS) {
        simulated::unsuited() = "a message does not fit into its room";
    }
    return code;
}

int wait_for(MPI_Request* request, MPI_Status* status) {
    const auto found = under_way.find(*request);
    if (found == under_way.end()) {
        return PMPI_Wait(request, status);
    }
    const UnderWay message = found->second;
    under_way.erase(found);
    MPI_Status got;
    const Waiting here(message.text);
    const int code = looked_at(PMPI_Wait(request, &got));
    if (message.text.direction == Direction::receive) {
        note_arrival(got, message.comm, message.text.call);
    }
    give(got, status);
    return code;
}

template <class Send>
int send(
    const char* name, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm, const Send& call
) {
    const RequestText text = noted(name, true, dst, tag, bytes_of(n, type), comm);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    const Waiting here(text);
    return call();
}

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
    const simulated::OwnExceptions own;
    const int code = call();
    under_way[*request] = {text, comm};
    return code;
}

/// A message that a probe has taken: the model checker knows no probes, and SimGrid no deadlock in one. The next receive that it
/// fits has it.
struct Probed {
    MPI_Comm comm;
    MPI_Status status;
    std::vector<char> bytes;
};
std::vector<Probed> probed;

bool fits(const MPI_Status& status, int src, int tag) {
    return (src == MPI_ANY_SOURCE || src == status.MPI_SOURCE) &&
           (tag == MPI_ANY_TAG || tag == status.MPI_TAG);
}

auto find_probed(MPI_Comm comm, int src, int tag) {
    return std::ranges::find_if(probed, [&](const Probed& message) {
        return message.comm == comm && fits(message.status, src, tag);
    });
}

int probe_by_receive(int src, int tag, MPI_Comm comm, MPI_Status* status) {
    auto found = find_probed(comm, src, tag);
    if (found == probed.end()) {
        constexpr int kMostBytes = 1 << 16;
        Probed message{comm, {}, std::vector<char>(kMostBytes)};
        const int code =
            PMPI_Recv(message.bytes.data(), kMostBytes, MPI_BYTE, src, tag, comm, &message.status);
        if (code != MPI_SUCCESS) {
            return code;
        }
        probed.push_back(std::move(message));
        found = std::prev(probed.end());
    }
    give(found->status, status);
    return MPI_SUCCESS;
}

int receive(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* got) {
    const auto found = find_probed(c, src, tag);
    if (found == probed.end()) {
        return PMPI_Recv(b, n, t, src, tag, c, got);
    }
    int bytes = 0;
    PMPI_Get_count(&found->status, MPI_BYTE, &bytes);
    const int room = bytes_of(n, t);
    std::copy_n(found->bytes.data(), std::min(bytes, room), static_cast<char*>(b));
    *got = found->status;
    probed.erase(found);
    return bytes <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

}  // namespace

extern "C" {

int MPI_Send(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Send", n, t, dst, tag, c, [&] { return PMPI_Send(b, n, t, dst, tag, c); });
}
int MPI_Ssend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Ssend", n, t, dst, tag, c, [&] { return PMPI_Ssend(b, n, t, dst, tag, c); });
}
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

int MPI_Recv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* s) {
    const RequestText text = noted("MPI_Recv", false, src, tag, bytes_of(n, t), c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    MPI_Status got;
    const Waiting here(text);
    const int code = looked_at(receive(b, n, t, src, tag, c, &got));
    note_arrival(got, c, text.call);
    give(got, s);
    return code;
}

int MPI_Probe(int src, int tag, MPI_Comm c, MPI_Status* s) {
    const RequestText text = noted("MPI_Probe", false, src, tag, -1, c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    const Waiting here(text);
    return probe_by_receive(src, tag, c, s);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return wait_for(request, status);
}

int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
    int result = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
        MPI_Status* const status =
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        const int code = wait_for(&requests[i], status);
        result = result == MPI_SUCCESS ? code : result;
    }
    return result;
}

int MPI_Waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) {
    std::vector<MPI_Request> before(requests, requests + n);
    MPI_Status got;
    RequestText text;
    text.call = "MPI_Waitany(" + std::to_string(n) + " requests)";
    const Waiting here(text);
    const int code = PMPI_Waitany(n, requests, index, &got);
    if (*index != MPI_UNDEFINED) {
        const auto found = under_way.find(before[static_cast<std::size_t>(*index)]);
        if (found != under_way.end()) {
            if (found->second.text.direction == Direction::receive) {
                note_arrival(got, found->second.comm, found->second.text.call);
            }
            under_way.erase(found);
        }
    }
    give(got, status);
    return code;
}

// Two halves at a time: shown as the half that is not through, of which SimGrid tells nothing; so they are two here as well.
int MPI_Sendrecv(
    const void* out,
    int out_n,
    MPI_Datatype out_type,
    int dst,
    int out_tag,
    void* in,
    int in_n,
    MPI_Datatype in_type,
    int src,
    int in_tag,
    MPI_Comm c,
    MPI_Status* s
) {
    const RequestText sending =
        noted("MPI_Sendrecv", true, dst, out_tag, bytes_of(out_n, out_type), c);
    const RequestText receiving =
        noted("MPI_Sendrecv", false, src, in_tag, bytes_of(in_n, in_type), c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Status got;
    PMPI_Irecv(in, in_n, in_type, src, in_tag, c, &receive);
    PMPI_Isend(out, out_n, out_type, dst, out_tag, c, &send);
    int received = MPI_SUCCESS;
    {
        const Waiting here(receiving);
        received = looked_at(PMPI_Wait(&receive, &got));
        note_arrival(got, c, receiving.call);
    }
    const Waiting here(sending);
    const int sent = PMPI_Wait(&send, MPI_STATUS_IGNORE);
    give(got, s);
    return received != MPI_SUCCESS ? received : sent;
}

int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm* made) {
    simulated::unsuited() = "it makes a communicator, by many messages of SimGrid's own";
    const simulated::OwnExceptions own;
    return PMPI_Comm_split(c, color, key, made);
}

int MPI_Barrier(MPI_Comm c) {
    RequestText text;
    text.call = "MPI_Barrier";
    text.kind = CallKind::collective;
    note_call(text.call);
    const Waiting here(text);
    return PMPI_Barrier(c);
}

}  // extern "C"
