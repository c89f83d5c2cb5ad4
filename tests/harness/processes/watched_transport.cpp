#include "tests/harness/processes/watched_transport.hpp"

#include <memory>
#include <span>
#include <string>

#include "course/protocol/counted.hpp"
#include "tests/harness/channel.hpp"
#include "tests/harness/mpi/pending.hpp"
#include "tests/harness/processes/standstill.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

std::uint64_t on_board(std::uint32_t group) {
    return std::uint64_t{group} + 1;  // 0 is Message::kMatched
}

}  // namespace

// While it lives, this thread waits there, and its receive stands on the board.
class WatchedTransport::Waits {
  public:
    Waits(const Posted& posted, const std::string& call)
        : receive_(line_of(posted)), wait_(text(posted, call)) {}

  private:
    struct TakeOff {
        void operator()(Message* line) const { line->used = 0; }
    };

    static Message* line_of(const Posted& posted) {
        return posted.direction == Direction::send
                   ? nullptr
                   : put_on_board(0, posted.peer, posted.tag, on_board(posted.group));
    }

    static RequestText text(const Posted& posted, const std::string& call) {
        const bool is_send = posted.direction == Direction::send;
        const bool is_probe = call == "probe";
        RequestText text;
        text.call = call + (is_send ? "(to rank " : "(from rank ") + std::to_string(posted.peer) +
                    ", group " + std::to_string(posted.group) + ", tag " +
                    std::to_string(posted.tag) +
                    (is_probe ? "" : ", " + counted(posted.bytes, "byte")) + ")";
        text.peer = posted.peer;
        text.tag = posted.tag;
        text.kind = is_probe ? CallKind::probe : CallKind::message;
        text.direction = posted.direction;
        return text;
    }

    const std::unique_ptr<Message, TakeOff> receive_;
    const channel::Waiting shown_;
    const Wait wait_;  // ends first: who is seen to wait has its receive on the board
};

void WatchedTransport::keep(const Request& request, const Posted& posted) {
    const std::scoped_lock guard(lock_);
    posted_.insert_or_assign(request.get(), posted);
}

std::optional<WatchedTransport::Posted> WatchedTransport::forget(const Request& request) {
    const std::scoped_lock guard(lock_);
    const auto node = posted_.extract(request.get());
    return node.empty() ? std::nullopt : std::optional(node.mapped());
}

// Takes the first message off the board that the receive takes. Returns its sender's number of it.
int WatchedTransport::take_off(const Posted& receive) {
    const std::scoped_lock guard(lock_);
    Slot& sender = slot_of(slot_number(receive.peer));
    const std::span messages(sender.message, static_cast<std::size_t>(sender.message_lines));
    Message* first = nullptr;
    for (Message& one : messages) {
        const bool is_it = one.used != 0 && one.is_send != 0 && one.peer == rank() &&
                           one.tag == receive.tag && one.group == on_board(receive.group);
        first = is_it && (first == nullptr || one.is_send < first->is_send) ? &one : first;
    }
    if (first == nullptr) {
        return channel::kInOrder;
    }
    const int id = first->is_send;
    first->used = 0;
    return id;
}

void WatchedTransport::note(const Posted& posted, const Arrival& arrival) {
    if (posted.direction == Direction::receive) {
        const int sender_id = take_off(posted);
        channel::receives(
            {.peer = posted.peer, .bytes = static_cast<int>(arrival.bytes), .tag = posted.tag},
            posted.id, sender_id
        );
    }
}

// It is told before it leaves: a receive of it may be through before isend has returned.
Request WatchedTransport::isend(
    std::span<const std::byte> data, int dst, std::uint32_t group, int tag
) {
    if (dst < 0 || dst >= size()) {
        return inner_.isend(data, dst, group, tag);  // refuses it
    }
    const int bytes = static_cast<int>(data.size());
    const int id = channel::sends({.peer = dst, .bytes = bytes, .tag = tag});
    put_on_board(id, dst, tag, on_board(group));
    moved();
    Request request = inner_.isend(data, dst, group, tag);
    keep(request, {Direction::send, dst, group, tag, data.size(), id});
    return request;
}

Request WatchedTransport::irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
    Request request = inner_.irecv(data, src, group, tag);
    keep(request, {Direction::receive, src, group, tag, data.size(), channel::awaits()});
    return request;
}

Arrival WatchedTransport::wait(const Request& request) {
    const std::optional<Posted> posted = forget(request);
    if (!posted) {
        return inner_.wait(request);
    }
    const char* const call = posted->direction == Direction::send ? "isend" : "irecv";
    Arrival arrival;
    try {
        const Waits waits(*posted, call);
        arrival = inner_.wait(request);
    } catch (...) {
        if (posted->direction == Direction::receive) {
            take_off(*posted);  // one that is too long has been received, too
        }
        throw;
    }
    note(*posted, arrival);
    return arrival;
}

bool WatchedTransport::test(const Request& request) {
    if (!inner_.test(request)) {
        return false;
    }
    if (const std::optional<Posted> posted = forget(request)) {
        note(*posted, request->arrival);
    }
    return true;
}

Arrival WatchedTransport::probe(int src, std::uint32_t group, int tag) {
    if (src < 0 || src >= size()) {
        return inner_.probe(src, group, tag);  // refuses it
    }
    const Waits waits({Direction::receive, src, group, tag, 0, 0}, "probe");
    return inner_.probe(src, group, tag);
}

}  // namespace dist::harness
