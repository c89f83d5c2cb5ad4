#include "tests/harness/messages.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sched.h>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "tests/harness/delays.hpp"
#include "tests/harness/groups.hpp"
#include "tests/harness/roll_call.hpp"

namespace dist::harness {
namespace {

struct Header {
    int clock;
    int unused;
};

struct Pending {
    std::unique_ptr<char[]> staging;  // header, then payload
    int payload_bytes = 0;
    void* user = nullptr;  // where a receive delivers
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    bool is_send = false;
    std::uint64_t collective = 0;  // its number, if this is a non-blocking collective
    MPI_Comm comm = MPI_COMM_NULL;
    RequestText text;
    int clock = 0;
    Message* posted = nullptr;  // its line on the board
};

std::recursive_mutex lock;
std::map<MPI_Request, std::shared_ptr<Pending>> pending;
std::vector<std::shared_ptr<Pending>> abandoned;  // MPI may still touch their buffers
Traffic counted;
int round_last = 0;  // the latest that any thread of this rank has seen
int last_send_end = 0;
int last_receive_end = 0;
long generation = 0;  // of the clocks: reset_traffic() begins a new one

std::shared_ptr<Pending> find(MPI_Request request) {
    const std::scoped_lock guard(lock);
    const auto found = pending.find(request);
    return found == pending.end() ? nullptr : found->second;
}

// The clock of the calling thread. Threads do not wait for each other's messages: a send by one does
// not come after a receive by another merely because it was posted later.
int& round_now() {
    thread_local long seen_generation = -1;
    thread_local int now = 0;
    if (seen_generation != generation) {
        seen_generation = generation;
        now = 0;
    }
    return now;
}

void advance_round(int end) {
    round_now() = std::max(round_now(), end);
    round_last = std::max(round_last, end);
}

// A call that MPI refuses (no such rank, a negative tag) is an exception here, also for code that
// does not look at what MPI_Send returns: or its partner's wait would be all that is seen.
void expect_accepted(int code, const std::string& call) {
    if (code != MPI_SUCCESS) {
        std::string reason(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        PMPI_Error_string(code, reason.data(), &length);
        throw Error(call + " failed: " + reason.substr(0, static_cast<std::size_t>(length)));
    }
}

int bytes_of(int count, MPI_Datatype type, MPI_Comm comm) {
    int bytes = 0;
    expect_accepted(
        PMPI_Pack_size(count, type, comm, &bytes),
        "a message of " + std::to_string(count) + " elements"
    );
    return bytes;
}

bool is_contiguous(MPI_Datatype type) {
    int size = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lower, &extent);
    return lower == 0 && extent == size;
}

Message* put_on_board(bool is_send, int peer, int tag, std::uint64_t group) {
    for (Message& message : my_slot().message) {
        if (message.used == 0) {
            message.is_send = is_send ? 1 : 0;
            message.peer = peer;
            message.tag = tag;
            message.group = group;
            message.used = 1;
            return &message;
        }
    }
    return nullptr;  // no line left: a deadlock is then decided by polls alone
}

void take_off_board(Pending& message) {
    if (message.posted != nullptr) {
        message.posted->used = 0;
        message.posted = nullptr;
        moved();
    }
}

RequestText words(
    const char* name, bool is_send, int rank, int tag, int bytes, const Group& group
) {
    RequestText text;
    text.peer = rank == MPI_ANY_SOURCE ? -1 : group.world_rank(rank);
    text.tag = tag;
    text.call = std::string(name) + (is_send ? "(to " : "(from ") +
                (rank == MPI_ANY_SOURCE ? "any rank" : "rank " + std::to_string(rank)) + ", " +
                (tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag)) +
                (bytes < 0 ? "" : ", " + std::to_string(bytes) + " bytes") + ")";
    return text;
}

// The receiver's half of a message: deliver, count, move the clock, and tell the payload's size.
void deliver(Pending& message, MPI_Status& status) {
    int received = 0;
    PMPI_Get_count(&status, MPI_BYTE, &received);
    const int payload = std::max(0, received - static_cast<int>(sizeof(Header)));
    const char* bytes = message.staging.get() + sizeof(Header);
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
    last_receive_end = std::max(header.clock, last_receive_end + 1);
    advance_round(last_receive_end);
    ++counted.messages_received;
    counted.bytes_received += payload;
    counted.received_from.insert(status.MPI_SOURCE);
}

MPI_Request start_receive(
    std::shared_ptr<Pending> message, MPI_Message* matched, int src, int tag
) {
    const int bytes = message->payload_bytes + static_cast<int>(sizeof(Header));
    message->staging.reset(new char[static_cast<std::size_t>(bytes)]);
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
    expect_accepted(code, message->text.call);
    pending[request] = std::move(message);
    return request;
}

}  // namespace

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
    const Group& group = group_of(comm);
    const std::scoped_lock guard(lock);
    auto message = std::make_shared<Pending>();
    message->is_send = true;
    message->comm = comm;
    const int capacity = bytes_of(count, type, comm);
    message->staging.reset(new char[sizeof(Header) + static_cast<std::size_t>(capacity)]);
    int payload = 0;
    PMPI_Pack(data, count, type, message->staging.get() + sizeof(Header), capacity, &payload, comm);
    message->payload_bytes = payload;
    message->text = words(name, true, dst, tag, payload, group);
    message->clock = last_send_end = std::max(round_now(), last_send_end) + 1;
    const Header header{message->clock, 0};
    std::memcpy(message->staging.get(), &header, sizeof header);
    message->posted = put_on_board(true, message->text.peer, tag, group.id);
    ++counted.messages_sent;
    counted.bytes_sent += payload;
    counted.sent_to.insert(dst);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Issend(
        message->staging.get(), payload + static_cast<int>(sizeof(Header)), MPI_BYTE, dst, tag,
        comm, &request
    );
    if (code != MPI_SUCCESS) {
        take_off_board(*message);
    }
    expect_accepted(code, message->text.call);
    pending[request] = std::move(message);
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
    const std::scoped_lock guard(lock);
    auto message = std::make_shared<Pending>();
    message->comm = comm;
    message->user = data;
    message->count = count;
    message->type = type;
    message->payload_bytes = bytes_of(count, type, comm);
    message->text = words(name, false, src, tag, message->payload_bytes, group);
    const int peer = src == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : message->text.peer;
    message->posted = put_on_board(false, peer, tag, group.id);
    moved();
    return start_receive(std::move(message), nullptr, src, tag);
}

MPI_Request post_matched_receive(
    void* data, int count, MPI_Datatype type, MPI_Message* matched, const char* name
) {
    leave_if_stopped();
    const std::scoped_lock guard(lock);
    auto message = std::make_shared<Pending>();
    message->comm = MPI_COMM_SELF;  // only for packing
    message->user = data;
    message->count = count;
    message->type = type;
    message->payload_bytes = bytes_of(count, type, MPI_COMM_SELF);
    message->text.call = std::string(name) + "(a matched message)";
    moved();
    return start_receive(std::move(message), matched, 0, 0);
}

void adopt_request(
    MPI_Request request, const std::string& signature, MPI_Comm comm, std::uint64_t count
) {
    const std::scoped_lock guard(lock);
    auto other = std::make_shared<Pending>();
    other->collective = count;
    other->comm = comm;
    other->text.call = signature;
    pending[request] = std::move(other);
}

int test_request(MPI_Request* request, bool* done, MPI_Status* status) {
    const std::scoped_lock guard(lock);
    const auto found = pending.find(*request);
    const auto message = found == pending.end() ? nullptr : found->second;
    const MPI_Request key = *request;
    MPI_Status local;
    int flag = 0;
    const int code = PMPI_Test(request, &flag, &local);
    *done = flag != 0 || code != MPI_SUCCESS;
    if (!*done) {
        return code;
    }
    if (message) {
        pending.erase(key);
        take_off_board(*message);
        if (message->collective == 0 && !message->is_send && code == MPI_SUCCESS) {
            deliver(*message, local);
        }
        if (message->is_send) {
            advance_round(message->clock);
        }
        moved();
    }
    if (status != MPI_STATUS_IGNORE) {
        *status = local;
    }
    return code;
}

int wait_request(MPI_Request* request, MPI_Status* status) {
    leave_if_stopped();
    bool done = false;
    int code = test_request(request, &done, status);
    if (done) {
        return code;
    }
    const auto message = find(*request);
    if (message && message->collective != 0) {
        await_arrivals(message->comm, message->collective, message->text.call);
        while (!done) {  // everybody takes part: it will end
            sched_yield();
            code = test_request(request, &done, status);
        }
        return code;
    }
    const RequestText text = describe(*request);
    Wait wait(text.call, text.peer, text.tag);
    while (!done) {
        wait.poll();
        code = test_request(request, &done, status);
    }
    return code;
}

RequestText describe(MPI_Request request) {
    const auto message = find(request);
    return message ? message->text : RequestText{"MPI_Wait", -1, -1};
}

void forget_request(MPI_Request* request) {
    *request =
        MPI_REQUEST_NULL;  // it stays pending: leftovers() will find it unless it gets through
}

int probe(
    int src,
    int tag,
    MPI_Comm comm,
    bool blocking,
    bool* found,
    MPI_Message* matched,
    MPI_Status* status,
    const char* name
) {
    leave_if_stopped();
    const Group& group = group_of(comm);
    const RequestText text = words(name, false, src, tag, -1, group);
    MPI_Status local;
    int flag = 0;
    const auto look = [&] {
        const std::scoped_lock guard(lock);
        return matched == nullptr ? PMPI_Iprobe(src, tag, comm, &flag, &local)
                                  : PMPI_Improbe(src, tag, comm, &flag, matched, &local);
    };
    int code = look();
    if (flag == 0 && code == MPI_SUCCESS && blocking) {
        Pending expected;  // on the board like a receive: a send that it will see is on its way
        expected.posted =
            put_on_board(false, src == MPI_ANY_SOURCE ? src : text.peer, tag, group.id);
        Wait wait(text.call, text.peer, text.tag);
        while (flag == 0 && code == MPI_SUCCESS) {
            wait.poll();
            code = look();
        }
        take_off_board(expected);
    }
    *found = flag != 0;
    if (!*found && !blocking) {
        unsuccessful_test(text.call, text.peer, text.tag);
    }
    if (*found && status != MPI_STATUS_IGNORE) {
        int bytes = 0;
        PMPI_Get_count(&local, MPI_BYTE, &bytes);
        PMPI_Status_set_elements(&local, MPI_BYTE, bytes - static_cast<int>(sizeof(Header)));
        *status = local;
    }
    return code;
}

void note_finished_messages() {
    const std::scoped_lock guard(lock);
    for (auto& [request, message] : pending) {
        if (message->posted == nullptr) {
            continue;
        }
        int flag = 0;
        MPI_Status status;
        PMPI_Request_get_status(request, &flag, &status);
        if (flag != 0) {
            take_off_board(*message);
        }
    }
}

void unsuccessful_test(const std::string& call, int peer, int tag) {
    // A loop of tests counts as waiting after this many in one epoch; until then it may be computing.
    constexpr int kTests = 2000;
    thread_local long seen_epoch = -1;
    thread_local int tests = 0;
    leave_if_stopped();
    if (const long epoch = board().epoch; epoch != seen_epoch) {
        seen_epoch = epoch;
        tests = 0;
    }
    sched_yield();
    if (++tests < kTests) {
        return;
    }
    Wait wait("a loop of " + call, peer, tag);
    seen_epoch = board().epoch;
    const double start_s = now_s();
    while (seen_epoch == board().epoch && now_s() - start_s < 0.2) {
        wait.poll();
    }
}

void reset_traffic() {
    const std::scoped_lock guard(lock);
    counted = Traffic{};
    round_last = last_send_end = last_receive_end = 0;
    ++generation;
}

Traffic traffic() {
    const std::scoped_lock guard(lock);
    Traffic now = counted;
    now.rounds = round_last;
    return now;
}

void count_collective() {
    const std::scoped_lock guard(lock);
    ++counted.collectives;
}

std::string leftovers() {
    const std::scoped_lock guard(lock);
    // Give what is nearly through the time to be through: the two cases have different sentences.
    for (int polls = 0; polls < 100; ++polls) {
        note_finished_messages();
    }
    std::string text;
    for (auto& [request, message] : pending) {
        int flag = 0;
        MPI_Status status;
        PMPI_Request_get_status(request, &flag, &status);
        text += text.empty() ? "" : "; ";
        if (flag != 0) {
            text += message->text.call + " was started and never waited for";
        } else if (message->is_send) {
            text += message->text.call + " was never received: a message left unread";
        } else {
            text += message->text.call + " was started, and no message ever came for it";
        }
        if (message->posted != nullptr) {
            take_off_board(*message);
        }
        abandoned.push_back(message);
    }
    pending.clear();
    return text;
}

}  // namespace dist::harness
