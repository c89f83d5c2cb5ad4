#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace dist {
namespace {

// A message that leaves, comes or has come, or a receive that waits for one.
struct Message {
    Frame frame = {};
    std::span<std::byte> place = {};   // where the data are, or go
    Request request = {};              // whose place that is; none: `data` is the place
    std::vector<std::byte> data = {};  // of what nobody has asked for
    std::size_t moved = 0;             // bytes so far, of the frame and the data
};

auto find(std::deque<Message>& row, const Frame& frame) {
    return std::ranges::find_if(row, [&](const Message& one) {
        return one.frame.group == frame.group && one.frame.tag == frame.tag;
    });
}

void finish(const Request& request, const Arrival& arrival, const std::string& error = "") {
    request->arrival = arrival;
    request->error = error;
    request->is_done = true;
}

// Gives a receive what has come for it.
void hand_over(const Message& come, int src, const Message& asked) {
    const std::size_t bytes = come.data.size();
    const bool fits = bytes <= asked.place.size();
    if (fits) {
        std::ranges::copy(come.data, asked.place.begin());
    }
    finish(
        asked.request, {src, come.frame.tag, bytes},
        fits ? ""
             : "a message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(src) +
                   " does not fit into " + std::to_string(asked.place.size())
    );
}

// Another rank, and what is between it and this one.
struct Peer {
    int rank = 0;
    net::Socket socket;
    std::string lost;  // why nothing moves any more; empty: it does
    std::deque<Message> leaving;
    std::deque<Message> asked;  // receives that wait
    std::deque<Message> kept;   // what nobody has asked for
    Message coming;             // just now

    bool write();
    bool read();
    void begin_message();
    void end_message();
    void deliver(Message come);
    void lose(const std::string& why);
};

// Gives the kernel what it takes. Says whether that was anything.
bool Peer::write() {
    bool moved = false;
    while (socket && !leaving.empty()) {
        Message& one = leaving.front();
        const auto frame = std::as_bytes(std::span(&one.frame, 1));
        const bool data_follow = one.moved < sizeof(Frame) && one.frame.bytes > 0;
        const std::span<const std::byte> rest = one.moved < sizeof(Frame)
                                                    ? frame.subspan(one.moved)
                                                    : one.place.subspan(one.moved - sizeof(Frame));
        const int how = MSG_DONTWAIT | MSG_NOSIGNAL | (data_follow ? MSG_MORE : 0);
        const ssize_t n = ::send(socket.descriptor(), rest.data(), rest.size(), how);
        if (n < 0 && errno == EAGAIN) {
            return moved;
        }
        if (n < 0) {
            const std::string why = std::strerror(errno);
            while (read()) {  // what has come is not lost
            }
            lose(why);
            return true;
        }
        moved = true;
        one.moved += static_cast<std::size_t>(n);
        if (one.moved == sizeof(Frame) + one.frame.bytes) {
            finish(one.request, {});
            leaving.pop_front();
        }
    }
    return moved;
}

// Takes what the kernel has: the frame first, then the data, to where they belong. Says whether that was anything.
bool Peer::read() {
    bool moved = false;
    while (socket) {
        const auto frame = std::as_writable_bytes(std::span(&coming.frame, 1));
        const auto missing = coming.moved < sizeof(Frame)
                                 ? frame.subspan(coming.moved)
                                 : coming.place.subspan(coming.moved - sizeof(Frame));
        const ssize_t n = ::recv(socket.descriptor(), missing.data(), missing.size(), MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            return moved;
        }
        moved = true;
        if (n <= 0) {
            lose(n == 0 ? "it has left" : std::strerror(errno));
            return true;
        }
        coming.moved += static_cast<std::size_t>(n);
        if (coming.moved == sizeof(Frame)) {
            begin_message();
        }
        if (coming.moved == sizeof(Frame) + coming.frame.bytes && coming.moved >= sizeof(Frame)) {
            const bool is_asked_for = coming.request != nullptr;
            end_message();
            if (is_asked_for) {
                return true;  // who waits for it may first ask for the next one
            }
        }
    }
    return moved;
}

// The frame is there. Who has asked for this message gets the data at once, if they fit.
void Peer::begin_message() {
    const std::size_t bytes = coming.frame.bytes;
    const auto found = find(asked, coming.frame);
    if (found != asked.end() && bytes <= found->place.size()) {
        coming.place = found->place.first(bytes);
        coming.request = found->request;
        asked.erase(found);
    } else {
        coming.data.resize(bytes);
        coming.place = coming.data;
    }
}

void Peer::end_message() {
    Message come = std::exchange(coming, {});
    if (come.request) {
        finish(come.request, {rank, come.frame.tag, come.frame.bytes});
    } else {
        deliver(std::move(come));
    }
}

// A message is complete, and in no receive's place.
void Peer::deliver(Message come) {
    const auto found = find(asked, come.frame);
    if (found == asked.end()) {
        return kept.push_back(std::move(come));
    }
    hand_over(come, rank, *found);
    asked.erase(found);
}

// Nothing will move any more. What is kept stays.
void Peer::lose(const std::string& why) {
    if (!lost.empty()) {
        return;
    }
    lost = "rank " + std::to_string(rank) + " cannot be reached: " + why;
    asked.push_back(std::exchange(coming, {}));
    for (std::deque<Message>* row : {&leaving, &asked}) {
        for (const Message& one : std::exchange(*row, {})) {
            if (one.request) {
                finish(one.request, {}, lost);
            }
        }
    }
    socket.close();
}

// What is under way between two ranks stays in the processor's cache. Left alone, the kernel takes
// megabytes of a long message, and the receiver reads them from memory.
void keep_in_cache(const net::Socket& socket) {
    const int bytes = 512 * 1024;
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

Arrival result_of(const Pending& done) {
    if (!done.error.empty()) {
        throw Error(done.error);
    }
    return done.arrival;
}

}  // namespace

struct TcpTransport::State {
    static constexpr int kLooks = 100;

    State(std::vector<net::Socket> sockets, int rank) : rank_(rank), peers_(sockets.size()) {
        const int size = static_cast<int>(sockets.size());
        expects(0 <= rank && rank < size, "TcpTransport: there is no place for this rank");
        for (int r = 0; r < size; ++r) {
            peer(r).rank = r;
            peer(r).socket = std::move(sockets[static_cast<std::size_t>(r)]);
            expects(r == rank || peer(r).socket, "TcpTransport: a rank has no socket");
            keep_in_cache(peer(r).socket);
        }
    }

    Peer& peer(int rank) { return peers_.at(static_cast<std::size_t>(rank)); }
    bool move();
    void sleep(std::unique_lock<std::mutex>& lock);
    void ring();

    // Moves messages until `holds`, which is asked under the lock. Of all threads that wait, one moves them; when it has
    // looked a few times in vain, it sleeps.
    template <class Condition>
    void until(std::unique_lock<std::mutex>& lock, const Condition& holds) {
        for (int looks = 0; !holds(); ++looks) {
            if (sleeps_) {
                moved_.wait(lock);
                continue;
            }
            if (move()) {
                looks = 0;
            } else if (looks < kLooks) {
                continue;
            } else {
                sleep(lock);
            }
            moved_.notify_all();
        }
    }

    int rank_;
    std::vector<Peer> peers_;
    std::mutex mutex_;
    std::condition_variable moved_;
    bool sleeps_ = false;                                               // a thread is in poll
    std::pair<net::Socket, net::Socket> bell_ = net::connected_pair();  // wakes it
};

bool TcpTransport::State::move() {
    bool moved = false;
    for (Peer& peer : peers_) {
        moved |= peer.read();
        moved |= peer.write();
    }
    return moved;
}

// Lets go of the lock until something can be moved, or another thread rings.
void TcpTransport::State::sleep(std::unique_lock<std::mutex>& lock) {
    std::vector<pollfd> all{{bell_.first.descriptor(), POLLIN, 0}};
    for (const Peer& peer : peers_) {
        const short events = peer.leaving.empty() ? POLLIN : POLLIN | POLLOUT;
        all.push_back({peer.socket.descriptor(), events, 0});  // a socket that is closed has none
    }
    sleeps_ = true;
    lock.unlock();
    ::poll(all.data(), all.size(), -1);
    lock.lock();
    sleeps_ = false;
    std::array<std::byte, 64> rings{};
    while (all.front().revents != 0 &&
           ::recv(bell_.first.descriptor(), rings.data(), rings.size(), MSG_DONTWAIT) > 0) {
    }
}

// Has the thread that sleeps look again: what it waits for may be done, and there may be more to move.
void TcpTransport::State::ring() {
    if (sleeps_) {
        ::send(bell_.second.descriptor(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

TcpTransport::TcpTransport(std::vector<net::Socket> sockets, int rank)
    : state_(std::make_unique<State>(std::move(sockets), rank)) {}

// Who closes a socket that has something to read throws away what it has written: first it is read,
// but into no receive's place, which may be gone by now.
TcpTransport::~TcpTransport() {
    std::array<std::byte, 65'536> nowhere{};
    for (const Peer& peer : state_->peers_) {
        const int wire = peer.socket.descriptor();
        while (::recv(wire, nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0) {
        }
    }
}

int TcpTransport::rank() const {
    return state_->rank_;
}

int TcpTransport::size() const {
    return static_cast<int>(state_->peers_.size());
}

Request TcpTransport::isend(
    std::span<const std::byte> data, int dst, std::uint32_t group, int tag
) {
    expects(0 <= dst && dst < size(), "isend: there is no such rank");
    const std::lock_guard lock(state_->mutex_);
    Peer& to = state_->peer(dst);
    const Frame frame{group, tag, data.size()};
    const std::span place(const_cast<std::byte*>(data.data()), data.size());  // it is only read
    auto request = std::make_shared<Pending>();
    if (!to.lost.empty()) {
        finish(request, {}, to.lost);
    } else if (dst == rank()) {
        to.deliver({.frame = frame, .data = {data.begin(), data.end()}});
        finish(request, {});
    } else {
        to.leaving.push_back({frame, place, request});
        to.write();
    }
    state_->ring();
    return request;
}

Request TcpTransport::irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
    expects(0 <= src && src < size(), "irecv: there is no such rank");
    const std::lock_guard lock(state_->mutex_);
    Peer& from = state_->peer(src);
    const Message asked{
        .frame = {group, tag}, .place = data, .request = std::make_shared<Pending>()};
    if (const auto found = find(from.kept, asked.frame); found != from.kept.end()) {
        hand_over(*found, src, asked);
        from.kept.erase(found);
    } else if (!from.lost.empty()) {
        finish(asked.request, {}, from.lost);
    } else {
        from.asked.push_back(asked);
    }
    return asked.request;
}

Arrival TcpTransport::wait(const Request& request) {
    std::unique_lock lock(state_->mutex_);
    state_->until(lock, [&] { return request->is_done; });
    return result_of(*request);
}

bool TcpTransport::test(const Request& request) {
    const std::lock_guard lock(state_->mutex_);
    state_->move();
    state_->ring();
    if (request->is_done) {
        result_of(*request);
    }
    return request->is_done;
}

Arrival TcpTransport::probe(int src, std::uint32_t group, int tag) {
    expects(0 <= src && src < size(), "probe: there is no such rank");
    std::unique_lock lock(state_->mutex_);
    Peer& from = state_->peer(src);
    const auto here = [&] { return find(from.kept, {group, tag}) != from.kept.end(); };
    state_->until(lock, [&] { return here() || !from.lost.empty(); });
    if (!here()) {
        throw Error(from.lost);
    }
    return {src, tag, find(from.kept, {group, tag})->data.size()};
}

}  // namespace dist
