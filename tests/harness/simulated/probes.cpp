// Probes. The model checker knows none, and SimGrid no deadlock in one: so a probe receives the message, and the receive that it is
// for gets it from here.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/harness/simulated/calls.hpp"
#include "tests/harness/simulated/rank.hpp"

namespace dist::harness::simulated {
namespace {

struct Probed {
    MPI_Comm comm;
    MPI_Status status;
    std::vector<char> bytes;
    bool handed_out = false;  // as an MPI_Message, which MPI_Mrecv alone takes
};
using ProbedMessages = std::vector<std::unique_ptr<Probed>>;
ProbedMessages probed;

bool fits(const MPI_Status& status, int src, int tag) {
    return (src == MPI_ANY_SOURCE || src == status.MPI_SOURCE) &&
           (tag == MPI_ANY_TAG || tag == status.MPI_TAG);
}

ProbedMessages::iterator find_probed(int src, int tag, MPI_Comm comm) {
    return std::ranges::find_if(probed, [&](const auto& message) {
        return message->comm == comm && !message->handed_out && fits(message->status, src, tag);
    });
}

/// The first message that fits, received unless an earlier probe has done so; null: it did not fit.
Probed* probe(int src, int tag, MPI_Comm comm) {
    constexpr int kMostBytes = 1 << 22;
    const auto found = find_probed(src, tag, comm);
    if (found != probed.end()) {
        return found->get();
    }
    auto message = std::make_unique<Probed>();
    message->comm = comm;
    message->bytes.resize(kMostBytes);
    const int code = looked_at(
        PMPI_Recv(message->bytes.data(), kMostBytes, MPI_BYTE, src, tag, comm, &message->status)
    );
    if (code != MPI_SUCCESS) {
        return nullptr;
    }
    int bytes = 0;
    PMPI_Get_count(&message->status, MPI_BYTE, &bytes);
    message->bytes.resize(static_cast<std::size_t>(bytes));
    return probed.emplace_back(std::move(message)).get();
}

/// Puts it where the receive wants it, and forgets it.
int take(ProbedMessages::iterator message, void* to, int room, MPI_Status* got) {
    const std::vector<char>& bytes = (*message)->bytes;
    const auto size = static_cast<int>(bytes.size());
    std::copy_n(bytes.begin(), std::min(size, room), static_cast<char*>(to));
    *got = (*message)->status;
    probed.erase(message);
    return size <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

template <class Give>
int waiting_probe(
    const char* name, int src, int tag, MPI_Comm c, MPI_Status* s, const Give& give_message
) {
    const RequestText text = noted(name, false, src, tag, -1, c);
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    const Waiting here(text);
    Probed* const message = probe(src, tag, c);
    if (message == nullptr) {
        return MPI_ERR_TRUNCATE;
    }
    give(message->status, s);
    give_message(*message);
    return MPI_SUCCESS;
}

}  // namespace

int receive(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* got) {
    const auto found = find_probed(src, tag, c);
    return found == probed.end() ? PMPI_Recv(b, n, t, src, tag, c, got)
                                 : take(found, b, bytes_of(n, t), got);
}

void expect_not_probed(int src, int tag, MPI_Comm comm) {
    if (find_probed(src, tag, comm) != probed.end()) {
        refuse("it probes a message and does not take it by MPI_Recv or MPI_Mrecv");
    }
}

}  // namespace dist::harness::simulated

using namespace dist::harness;
using namespace dist::harness::simulated;

extern "C" {

int MPI_Probe(int src, int tag, MPI_Comm c, MPI_Status* s) {
    return waiting_probe("MPI_Probe", src, tag, c, s, [](const Probed&) {});
}

int MPI_Mprobe(int src, int tag, MPI_Comm c, MPI_Message* m, MPI_Status* s) {
    return waiting_probe("MPI_Mprobe", src, tag, c, s, [&](Probed& message) {
        message.handed_out = true;
        *m = &message;
    });
}

int MPI_Mrecv(void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Status* s) {
    if (messages_fail()) {
        return MPI_ERR_OTHER;
    }
    const auto found =
        std::ranges::find_if(probed, [&](const auto& message) { return message.get() == *m; });
    if (found == probed.end()) {
        return MPI_ERR_ARG;
    }
    const MPI_Comm comm = (*found)->comm;
    MPI_Status got;
    const int code = looked_at(take(found, b, bytes_of(n, t), &got));
    if (code == MPI_SUCCESS) {
        note_arrival(got, comm, "MPI_Mrecv");
    }
    *m = MPI_MESSAGE_NULL;
    give(got, s);
    return code;
}

int MPI_Iprobe(int src, int tag, MPI_Comm c, int* flag, MPI_Status* s) {
    note_question("MPI_Iprobe");
    const OwnExceptions own;
    const auto found = find_probed(src, tag, c);
    if (found == probed.end()) {
        return PMPI_Iprobe(src, tag, c, flag, s);
    }
    *flag = 1;
    give((*found)->status, s);
    return MPI_SUCCESS;
}

}  // extern "C"
