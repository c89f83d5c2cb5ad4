// Every message that was posted and is not through yet, as the layer keeps it. Internal to
// messages.cpp and requests.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "course/protocol/protocol.hpp"
#include "tests/harness/mpi/messages.hpp"

namespace dist::harness {

/// What travels in front of every payload: see Note [Rounds], and KnownNetwork.
struct Header {
    int sender;  // rank in the world of the job
    int id;      // as the sender numbers its messages
    int payload_bytes;
    double departure_s;
};

struct Pending {
    std::unique_ptr<char[]> staging;  // header, then payload
    int payload_bytes = 0;
    void* user = nullptr;               // where a receive delivers
    std::span<const std::byte> buffer;  // the code under test's; empty where it cannot be watched
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    bool is_send = false;
    std::uint64_t collective = 0;  // its number, if this is a non-blocking collective
    MPI_Comm comm = MPI_COMM_NULL;
    RequestText text;
    int id = 0;                              // as traffic.hpp numbers it
    Message* posted = nullptr;               // its line on the board
    std::shared_ptr<const Frames> asked_at;  // where, if not where it is waited for
};

/// All of them; to be used under the lock.
struct PendingMessages {
    std::recursive_mutex lock;
    std::map<MPI_Request, std::shared_ptr<Pending>> by_request;
};
PendingMessages& pending();

/// Shows a message on the board, as posted in `group`, or as Message::kMatched; `is_send` as there.
///
/// Errors  dist::Error if no line is left.
Message* put_on_board(int is_send, int peer, int tag, std::uint64_t group);
void take_off_board(Pending& message);

/// The receiver's half of a message: deliver, count, move the clock, and tell the payload's size.
void deliver(Pending& message, MPI_Status& status);

/// "MPI_Recv(from rank 2, tag 0, 4 bytes)"; `bytes` is negative where no size is known. Calls of NCCL
/// have no tag.
struct Group;
RequestText request_text(
    const char* name, bool is_send, int rank, int tag, int bytes, const Group& group
);

}  // namespace dist::harness
