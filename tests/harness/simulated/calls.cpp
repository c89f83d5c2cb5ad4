// Calls of SimGrid's MPI as the code under test makes them: noted, shown on the board where they wait, and failing where a
// test wants that. What a call does is SimGrid's.
#include "tests/harness/simulated/calls.hpp"

#include <vector>

#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/known_network.hpp"
#include "tests/harness/simulated/rank.hpp"
#include "tests/harness/words/shared_room.hpp"

namespace dist::harness::simulated {
namespace {

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

}  // namespace

int bytes_of(int n, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return n * size;
}

RequestText noted(const char* name, bool is_send, int rank, int tag, int bytes, MPI_Comm comm) {
    expect_own_thread(name);
    RequestText text = request_text(name, is_send, rank, tag, bytes, members_of(comm));
    if (messages_fail()) {
        return text;
    }
    if (is_send && text.peer >= 0) {
        Departures& to = departures(world_rank(), text.peer);
        to.at_s[to.sent++ % Departures::kUnderWay] = departure_s();
    }
    if (!is_send && rank == MPI_ANY_SOURCE) {
        say(simulation::kFromAnyoneMark);
    }
    note_call(text.call);
    return text;
}

void note_question(const std::string& call) {
    expect_own_thread(call.c_str());
    say(simulation::kQuestionMark);
    note_call(call);
}

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
        const simulation::Message message{my_slot().run_started, from,  world_rank(),
                                          status.MPI_TAG,        bytes, call};
        append(simulation::kMessagesFile, nlohmann::json(message).dump());
    }
}

int looked_at(int code) {
    // the checker takes a message that is longer than its room for a fault of the program, whatever the program does about it
    if (code != MPI_SUCCESS) {
        unsuited() = "a message does not fit into its room";
    }
    return code;
}

void give(const MPI_Status& status, MPI_Status* to) {
    if (to != MPI_STATUS_IGNORE) {
        *to = status;
    }
}

}  // namespace dist::harness::simulated

namespace {

using namespace dist::harness;
using namespace dist::harness::simulated;

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

}  // namespace

extern "C" {

int MPI_Send(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Send", n, t, dst, tag, c, [&] { return PMPI_Send(b, n, t, dst, tag, c); });
}
int MPI_Ssend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Ssend", n, t, dst, tag, c, [&] { return PMPI_Ssend(b, n, t, dst, tag, c); });
}
int MPI_Rsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Rsend", n, t, dst, tag, c, [&] { return PMPI_Rsend(b, n, t, dst, tag, c); });
}
int MPI_Bsend(const void* b, int n, MPI_Datatype t, int dst, int tag, MPI_Comm c) {
    return send("MPI_Bsend", n, t, dst, tag, c, [&] { return PMPI_Bsend(b, n, t, dst, tag, c); });
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* s) {
    const RequestText text = noted("MPI_Recv", false, src, tag, bytes_of(n, t), c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    MPI_Status got;
    const Waiting here(text);
    const int code = looked_at(receive(b, n, t, src, tag, c, &got));
    if (code == MPI_SUCCESS) {
        note_arrival(got, c, text.call);
    }
    give(got, s);
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
    expect_not_probed(src, in_tag, c);
    const OwnExceptions own;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Status got;
    PMPI_Irecv(in, in_n, in_type, src, in_tag, c, &receive);
    PMPI_Isend(out, out_n, out_type, dst, out_tag, c, &send);
    int received = MPI_SUCCESS;
    {
        const Waiting here(receiving);
        received = looked_at(PMPI_Wait(&receive, &got));
        if (received == MPI_SUCCESS) {
            note_arrival(got, c, receiving.call);
        }
    }
    const Waiting here(sending);
    const int sent = PMPI_Wait(&send, MPI_STATUS_IGNORE);
    give(got, s);
    return received != MPI_SUCCESS ? received : sent;
}

int MPI_Sendrecv_replace(
    void* b,
    int n,
    MPI_Datatype t,
    int dst,
    int out_tag,
    int src,
    int in_tag,
    MPI_Comm c,
    MPI_Status* s
) {
    const auto* const begin = static_cast<const char*>(b);
    const std::vector<char> out(begin, begin + bytes_of(n, t));
    return MPI_Sendrecv(out.data(), n, t, dst, out_tag, b, n, t, src, in_tag, c, s);
}

int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm* made) {
    unsuited() = "it makes a communicator, by many messages of SimGrid's own";
    const OwnExceptions own;
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
