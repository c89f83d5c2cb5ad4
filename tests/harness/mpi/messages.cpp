#include "tests/harness/mpi/messages.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "course/protocol/counted.hpp"
#include "course/runtime/error.hpp"
#include "tests/harness/channel.hpp"
#include "tests/harness/job/secret.hpp"
#include "tests/harness/mpi/buffers.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/known_network.hpp"
#include "tests/harness/mpi/payload.hpp"
#include "tests/harness/mpi/pending.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"
#include "tests/harness/words/garbled.hpp"

namespace dist::harness {
namespace {

// A call that MPI refuses (no such rank, a negative tag) is an exception here, also for code that
// does not look at what MPI_Send returns: or its partner's wait would be all that is seen.
void expect_accepted(int code, const std::string& call, const std::string& why = "") {
    if (code != MPI_SUCCESS) {
        std::string reason(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        PMPI_Error_string(code, reason.data(), &length);
        throw Error(call + " failed: " + reason.substr(0, static_cast<std::size_t>(length)) + why);
    }
}

// A message between ranks is refused: where the other one is a rank of the world, and none of the communicator, both sizes are said.
void expect_posted(int code, const Pending& message) {
    int size = 0;
    int world = 0;
    PMPI_Comm_size(message.comm, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &world);
    const int peer = message.text.peer_in_comm;
    const bool is_of_the_world = size <= peer && peer < world;
    expect_accepted(
        code, message.text.call,
        is_of_the_world ? ": this communicator has " + counted(size, "rank") +
                              ", and MPI_COMM_WORLD " + std::to_string(world)
                        : ""
    );
}

int bytes_of(int count, MPI_Datatype type, MPI_Comm comm) {
    constexpr long kMost = std::numeric_limits<int>::max() - static_cast<int>(sizeof(Header));
    if (count < 0) {
        throw Error(
            "a message of " + std::to_string(count) +
            " elements: MPI counts by an int, which holds 2^31 - 1 at most"
        );
    }
    int size = 0;
    PMPI_Type_size(type, &size);
    if (static_cast<long>(count) * size > kMost) {
        throw Error(
            "a message of " + std::to_string(count) + " elements has more than " +
            std::to_string(kMost) + " bytes: the course's tests carry no larger one"
        );
    }
    int bytes = 0;
    expect_accepted(
        PMPI_Pack_size(count, type, comm, &bytes), "a message of " + counted(count, "element")
    );
    return bytes;
}

MPI_Request start_receive(
    std::shared_ptr<Pending> message, MPI_Message* matched, int src, int tag
) {
    const int bytes = message->payload_bytes + static_cast<int>(sizeof(Header));
    message->staging.reset(new char[static_cast<std::size_t>(bytes)]);
    message->id = channel::awaits();
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        matched != nullptr
            ? PMPI_Imrecv(message->staging.get(), bytes, MPI_BYTE, matched, &request)
            : PMPI_Irecv(
                  message->staging.get(), bytes, MPI_BYTE, src, tag, message->comm, &request
              );
    if (code != MPI_SUCCESS) {
        take_off_board(*message);
    }
    expect_posted(code, *message);
    pending().by_request[request] = std::move(message);
    return request;
}

}  // namespace

PendingMessages& pending() {
    static PendingMessages all;
    return all;
}

Message* put_on_board(int is_send, int peer, int tag, std::uint64_t group) {
    const std::scoped_lock guard(pending().lock);
    Message* const lines = my_slot().message;
    Message* const line =
        std::find_if(lines, lines + kMaxMessages, [](Message& m) { return m.used == 0; });
    if (line == lines + kMaxMessages) {
        throw Error(
            "more than " + counted(kMaxMessages, "message") +
            " of a rank are under way at a time: the course's tests follow no more"
        );
    }
    line->is_send = is_send;
    line->peer = peer;
    line->tag = tag;
    line->group = group;
    line->used = 1;
    const int used = static_cast<int>(line - lines) + 1;
    my_slot().message_lines = std::max(my_slot().message_lines.load(), used);
    return line;
}

// First moved(), then the line: between the two this rank may lose its core for long, and whoever
// looks then must see a message on its way, or that something has moved.
void take_off_board(Pending& message) {
    if (message.posted != nullptr) {
        moved();
        message.posted->used = 0;
        message.posted = nullptr;
    }
}

// Where a message is passed on, a byte does not come back to what it was.
void garble_if_asked(std::span<std::byte> bytes) {
    const Garble way = secret().drawn() ? secret().shown_garble() : Garble::none;
    if (way == Garble::none) {
        return;
    }
    constexpr unsigned kShift = 37;
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(
            way == Garble::others ? std::to_integer<unsigned>(byte) + kShift : 0
        );
    }
}

void deliver(Pending& message, MPI_Status& status) {
    int received = 0;
    PMPI_Get_count(&status, MPI_BYTE, &received);
    const int payload = std::max(0, received - static_cast<int>(sizeof(Header)));
    char* const bytes = message.staging.get() + sizeof(Header);
    garble_if_asked(std::as_writable_bytes(std::span(bytes, static_cast<std::size_t>(payload))));
    if (payload == 0) {
        // nothing to deliver, and perhaps nowhere
    } else if (is_contiguous(message.type)) {
        std::memcpy(message.user, bytes, static_cast<std::size_t>(payload));
    } else {
        int position = 0;
        int size = 1;
        PMPI_Type_size(message.type, &size);
        PMPI_Unpack(
            bytes, payload, &position, message.user, std::min(message.count, payload / size),
            message.type, message.comm
        );
    }
    PMPI_Status_set_elements(&status, MPI_BYTE, payload);
    Header header{};
    std::memcpy(&header, message.staging.get(), sizeof header);
    channel::Carried carried{
        .peer = status.MPI_SOURCE,
        .bytes = payload,
        .tag = status.MPI_TAG,
        .job_peer = header.sender,
        .payload = payload_of(message.user, bytes, payload, message.type)};
    std::memcpy(
        &carried.first, bytes, std::min(sizeof carried.first, static_cast<std::size_t>(payload))
    );
    channel::receives(carried, message.id, header.id);
    note_delivery(header.departure_s, payload);
}

MPI_Request post_send(
    const void* data,
    int count,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    const char* name
) {
    if (dst == MPI_PROC_NULL) {
        return MPI_REQUEST_NULL;
    }
    leave_if_stopped();
    seeded_delay();
    late_message_delay();
    const Group& group = group_of(comm);
    const std::scoped_lock guard(pending().lock);
    auto message = std::make_shared<Pending>();
    message->is_send = true;
    message->comm = comm;
    const int capacity = bytes_of(count, type, comm);
    message->buffer = watched(data, count, type, name);
    note_overrun(message->buffer, name);
    message->staging.reset(new char[sizeof(Header) + static_cast<std::size_t>(capacity)]);
    int payload = 0;
    PMPI_Pack(data, count, type, message->staging.get() + sizeof(Header), capacity, &payload, comm);
    message->payload_bytes = payload;
    message->text = request_text(name, true, dst, tag, payload, group);
    refuse_overlap(*message, name);
    message->id = channel::sends(
        {.peer = dst,
         .bytes = payload,
         .tag = tag,
         .job_peer = message->text.peer,
         .payload = payload_of(data, message->staging.get() + sizeof(Header), payload, type)}
    );
    const Header header{world_rank(), message->id, payload, departure_s()};
    std::memcpy(message->staging.get(), &header, sizeof header);
    message->posted = put_on_board(1, message->text.peer, tag, group.id);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Issend(
        message->staging.get(), payload + static_cast<int>(sizeof(Header)), MPI_BYTE, dst, tag,
        comm, &request
    );
    if (code != MPI_SUCCESS) {
        take_off_board(*message);
    }
    expect_posted(code, *message);
    pending().by_request[request] = std::move(message);
    moved();
    return request;
}

MPI_Request post_receive(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, const char* name
) {
    if (src == MPI_PROC_NULL) {
        return MPI_REQUEST_NULL;
    }
    leave_if_stopped();
    seeded_delay();
    const Group& group = group_of(comm);
    const std::scoped_lock guard(pending().lock);
    auto message = std::make_shared<Pending>();
    message->comm = comm;
    message->user = data;
    message->count = count;
    message->type = type;
    message->payload_bytes = bytes_of(count, type, comm);
    message->text = request_text(name, false, src, tag, message->payload_bytes, group);
    message->buffer = watched(data, count, type, name);
    note_overrun(message->buffer, name);
    refuse_overlap(*message, name);
    const int peer = src == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : message->text.peer;
    if (src == MPI_ANY_SOURCE) {
        note_listened_to_anyone();
    }
    message->posted = put_on_board(0, peer, tag, group.id);
    moved();
    return start_receive(std::move(message), nullptr, src, tag);
}

MPI_Request post_matched_receive(
    void* data, int count, MPI_Datatype type, MPI_Message* matched, const char* name
) {
    leave_if_stopped();
    const std::scoped_lock guard(pending().lock);
    auto message = std::make_shared<Pending>();
    message->comm = MPI_COMM_SELF;  // only for packing
    message->user = data;
    message->count = count;
    message->type = type;
    message->payload_bytes = bytes_of(count, type, MPI_COMM_SELF);
    message->text.call = std::string(name) + "(a matched message)";
    message->buffer = watched(data, count, type, name);
    refuse_overlap(*message, name);
    message->posted = put_on_board(0, world_rank(), 0, Message::kMatched);
    moved();
    return start_receive(std::move(message), matched, 0, 0);
}

void adopt_request(
    MPI_Request request, const std::string& signature, MPI_Comm comm, std::uint64_t count
) {
    const std::scoped_lock guard(pending().lock);
    auto other = std::make_shared<Pending>();
    other->collective = count;
    other->comm = comm;
    other->text.call = signature;
    pending().by_request[request] = std::move(other);
}

}  // namespace dist::harness
