// What becomes of messages that were posted: looked at, waited for, given away, left behind.

#include <algorithm>
#include <cstring>
#include <sched.h>

#include "course/protocol/counted.hpp"
#include "course/runtime/clock.hpp"
#include "tests/harness/channel.hpp"
#include "tests/harness/mpi/buffers.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/pending.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

std::vector<std::shared_ptr<Pending>> abandoned;  // MPI may still touch their buffers

std::shared_ptr<Pending> find(MPI_Request request) {
    const std::scoped_lock guard(pending().lock);
    const auto found = pending().by_request.find(request);
    return found == pending().by_request.end() ? nullptr : found->second;
}

std::string truncated;  // of the last message that was; under the lock

void note_truncation(const Pending& message, const MPI_Status& status) {
    Header header{};
    std::memcpy(&header, message.staging.get(), sizeof header);
    truncated = "rank " + std::to_string(status.MPI_SOURCE) + " sent " +
                counted(header.payload_bytes, "byte") + ", the receive has room for " +
                std::to_string(message.payload_bytes);
}

// The status of a message, without the layer's own header.
void show_payload(MPI_Status& status) {
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    PMPI_Status_set_elements(
        &status, MPI_BYTE, std::max(0, bytes - static_cast<int>(sizeof(Header)))
    );
}

}  // namespace

bool is_pending(MPI_Request request) {
    return find(request) != nullptr;
}

int test_request(MPI_Request* request, bool* done, MPI_Status* status) {
    const std::scoped_lock guard(pending().lock);
    const auto message = find(*request);
    const MPI_Request key = *request;
    MPI_Status local;
    int flag = 0;
    const int code = PMPI_Test(request, &flag, &local);
    *done = flag != 0 || code != MPI_SUCCESS;
    if (!*done) {
        return code;
    }
    if (message) {
        pending().by_request.erase(key);
        take_off_board(*message);
        if (message->collective == 0 && !message->is_send && code == MPI_SUCCESS) {
            deliver(*message, local);
        } else if (code == MPI_ERR_TRUNCATE && message->collective == 0) {
            note_truncation(*message, local);
        }
        if (message->is_send) {
            note_change(*message);
            channel::taken(message->id);
        }
        moved();
    }
    if (status != MPI_STATUS_IGNORE) {
        *status = local;
    }
    const bool fails = message && message->collective == 0 && message_fails();
    return fails ? MPI_ERR_OTHER : code;
}

int look_at_request(MPI_Request request, bool* done, MPI_Status* status) {
    const std::scoped_lock guard(pending().lock);
    const auto message = find(request);
    MPI_Status local;
    int flag = 0;
    const int code = PMPI_Request_get_status(request, &flag, &local);
    *done = flag != 0;
    if (*done && status != MPI_STATUS_IGNORE) {
        if (message && message->collective == 0 && !message->is_send) {
            show_payload(local);
        }
        *status = local;
    }
    return code;
}

std::string truncation() {
    const std::scoped_lock guard(pending().lock);
    return truncated;
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
    const channel::Waiting waiting;
    Wait wait(text);
    if (message && message->asked_at) {
        wait.stands_at(*message->asked_at);
    }
    while (!done) {
        wait.poll();
        code = test_request(request, &done, status);
    }
    return code;
}

void note_origin(MPI_Request request, std::shared_ptr<const Frames> asked_at) {
    if (const auto message = find(request)) {
        message->asked_at = std::move(asked_at);
    }
}

RequestText describe(MPI_Request request) {
    const auto message = find(request);
    return message ? message->text : RequestText{"MPI_Wait"};
}

namespace {

// What a probe waits for, on the board like a receive: a send that it will see is on its way.
struct Expected : Pending {
    Expected(int src, int tag, const Group& group) { posted = put_on_board(0, src, tag, group.id); }
    ~Expected() { take_off_board(*this); }
    Expected(const Expected&) = delete;
    Expected& operator=(const Expected&) = delete;
};

}  // namespace

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
    const RequestText text = request_text(name, false, src, tag, -1, group);
    MPI_Status local;
    int flag = 0;
    const auto look = [&] {
        const std::scoped_lock guard(pending().lock);
        return matched == nullptr ? PMPI_Iprobe(src, tag, comm, &flag, &local)
                                  : PMPI_Improbe(src, tag, comm, &flag, matched, &local);
    };
    int code = look();
    if (flag == 0 && code == MPI_SUCCESS && blocking) {
        const Expected expected(src == MPI_ANY_SOURCE ? src : text.peer, tag, group);
        Wait wait(text);
        while (flag == 0 && code == MPI_SUCCESS) {
            wait.poll();
            code = look();
        }
    }
    *found = flag != 0;
    if (!*found && !blocking) {
        unsuccessful_test(text);
    }
    if (*found && status != MPI_STATUS_IGNORE) {
        show_payload(local);
        *status = local;
    }
    return code;
}

void note_finished_messages() {
    const std::scoped_lock guard(pending().lock);
    for (auto& [request, message] : pending().by_request) {
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

void unsuccessful_test(const RequestText& text) {
    // A loop of tests counts as waiting after this many in one epoch; until then it may be
    // computing.
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
    RequestText loop = text;
    loop.call = "a loop of " + text.call;
    Wait wait(loop);
    seen_epoch = board().epoch;
    const double start_s = now_s();
    while (seen_epoch == board().epoch && now_s() - start_s < 0.2) {
        wait.poll();
    }
}

namespace {

std::vector<std::pair<MPI_Request, std::shared_ptr<Pending>>> by_age() {
    std::vector<std::pair<MPI_Request, std::shared_ptr<Pending>>> all(
        pending().by_request.begin(), pending().by_request.end()
    );
    std::ranges::stable_sort(all, {}, [](const auto& entry) { return entry.second->id; });
    return all;
}

std::string what_became_of(MPI_Request request, const Pending& message) {
    int through = 0;
    MPI_Status status;
    PMPI_Request_get_status(request, &through, &status);
    if (through != 0) {
        return message.text.call + " was started and never waited for";
    }
    return message.text.call + (message.is_send ? " was never received: a message left unread"
                                                : " was started, and no message ever came for it");
}

}  // namespace

std::string leftovers() {
    const std::scoped_lock guard(pending().lock);
    // Waits for messages that are nearly through: a message that arrived has another sentence than one that did not.
    for (int polls = 0; polls < 100; ++polls) {
        note_finished_messages();
    }
    std::string text = changed_buffers();
    constexpr long kTold = 4;
    long left = 0;
    for (const auto& [request, message] : by_age()) {
        if (++left <= kTold) {
            text += (text.empty() ? "" : "; ") + what_became_of(request, *message);
        }
        take_off_board(*message);
        abandoned.push_back(message);
    }
    if (left > kTold) {
        text += "; and so on: " + counted(left, "message");
    }
    pending().by_request.clear();
    truncated.clear();
    return text;
}

}  // namespace dist::harness
