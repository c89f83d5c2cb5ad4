#include "tests/harness/network/faulty_network.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "course/net/socket.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::harness {

using Clock = std::chrono::steady_clock;

namespace network {  // and none without a name: State holds what is in it

namespace {

/// Bytes that a way holds before its sender has to wait.
constexpr std::size_t kRoom = std::size_t{256} << 10;

bool try_again() {
    return errno == EAGAIN || errno == EINTR;
}

}  // namespace

/// One way of a connection: what has come in and has not gone on yet.
struct Stream {
    std::string held = {};
    bool has_ended = false;  // its sender sends no more
    bool is_shut = false;    // and its receiver has been told
    bool is_full = false;    // its receiver takes nothing now
    std::uint64_t draws = 0;
    std::uint64_t seed = 0;
    std::size_t piece = 0;  // bytes of this piece that are left to go on
    Clock::time_point due = {};

    void begin_piece(const Faults& faults) {
        const auto draw = [&](std::uint64_t most) {
            return seeded_bits(seed, draws++) % (most + 1);
        };
        piece = faults.most_piece == 0 ? kRoom : 1 + draw(faults.most_piece - 1);
        due = Clock::now() +
              std::chrono::microseconds(draw(static_cast<std::uint64_t>(faults.most_delay_us)));
    }
};

struct Connection {
    std::array<net::Socket, 2> sender = {};  // by Way: the client, the server
    std::array<Stream, 2> stream = {};
    unsigned last_way = 2;  // none yet
    bool is_over = false;

    net::Socket& receiver(unsigned way) { return sender[1 - way]; }
    void reset();
};

void Connection::reset() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    for (net::Socket& socket : sender) {
        setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        socket.close();
    }
    is_over = true;
}

struct Edge {
    net::Socket listener;
    int to = 0;
    Faults faults = {};
    std::uint64_t seed = 0;
    Carried carried = {};
    std::array<bool, 2> is_cut = {};
    std::array<long, 2> to_drop = {};
    std::array<std::optional<long>, 2> until_reset = {};
    std::list<Connection> connections = {};

    void accept();
    void take(Connection& connection, unsigned way);
    void pass_on(Connection& connection, unsigned way);
    void reset();
};

void Edge::accept() {
    while (net::Socket client = net::accept_from(listener)) {
        Connection connection;
        connection.sender[Way::there] = std::move(client);
        for (const unsigned way : {Way::there, Way::back}) {
            const auto number = static_cast<std::uint64_t>(2 * carried.connections) + way;
            connection.stream[way].seed = seeded_bits(seed, number);
        }
        ++carried.connections;
        try {
            connection.sender[Way::back] =
                net::connect_to("127.0.0.1", to, std::chrono::seconds(5));
            connections.push_back(std::move(connection));
        } catch (const Error&) {
            connection.reset();
        }
    }
}

/// Takes what the sender has sent.
void Edge::take(Connection& connection, unsigned way) {
    Stream& stream = connection.stream[way];
    char bytes[1 << 16];
    while (!stream.has_ended && stream.held.size() < kRoom) {
        const ssize_t n =
            recv(connection.sender[way].descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0) {
            return try_again() ? void() : connection.reset();
        }
        if (n == 0) {
            stream.has_ended = true;
            return;
        }
        carried.bytes[way] += n;
        carried.turns[way] += connection.last_way == way ? 0 : 1;
        connection.last_way = way;
        const long lost = std::min<long>(n, to_drop[way]);
        to_drop[way] -= lost;
        if (stream.held.empty()) {
            stream.begin_piece(faults);
        }
        stream.held.append(bytes + lost, static_cast<std::size_t>(n - lost));
    }
}

/// Lets go on what is due.
void Edge::pass_on(Connection& connection, unsigned way) {
    Stream& stream = connection.stream[way];
    const int receiver = connection.receiver(way).descriptor();
    stream.is_full = false;
    while (!is_cut[way] && !stream.held.empty() && stream.due <= Clock::now()) {
        std::size_t most = std::min(stream.piece, stream.held.size());
        if (until_reset[way]) {
            most = std::min(most, static_cast<std::size_t>(*until_reset[way]));
        }
        const ssize_t n = send(receiver, stream.held.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            stream.is_full = try_again();
            return stream.is_full ? void() : connection.reset();
        }
        stream.held.erase(0, static_cast<std::size_t>(n));
        stream.piece -= static_cast<std::size_t>(n);
        if (until_reset[way] && (*until_reset[way] -= n) == 0) {
            return reset();
        }
        if (stream.piece == 0) {
            stream.begin_piece(faults);
        }
    }
    if (!is_cut[way] && stream.held.empty() && stream.has_ended && !stream.is_shut) {
        shutdown(receiver, SHUT_WR);
        stream.is_shut = true;
        connection.is_over = connection.stream[0].is_shut && connection.stream[1].is_shut;
    }
}

void Edge::reset() {
    for (Connection& connection : connections) {
        connection.reset();
    }
    until_reset = {};
}

}  // namespace network

using network::Connection;
using network::Edge;
using network::kRoom;
using network::Stream;

struct FaultyNetwork::State {
    std::uint64_t seed;
    mutable std::mutex lock = {};
    std::map<int, Edge> edges = {};  // by port
    std::pair<net::Socket, net::Socket> news = net::connected_pair();
    bool is_over = false;
    std::thread thread = {};

    void run();
    void look_at_all();
    [[nodiscard]] std::vector<pollfd> events() const;
    [[nodiscard]] Clock::time_point next_due() const;
    template <class Change>
    void change(int edge, const Change& how);
};

void FaultyNetwork::State::run() {
    std::unique_lock guard(lock);
    while (!is_over) {
        look_at_all();
        std::vector<pollfd> all = events();
        const auto nap = std::max(Clock::duration(0), next_due() - Clock::now());
        const auto whole = std::chrono::floor<std::chrono::seconds>(nap);
        const timespec most = {.tv_sec = whole.count(), .tv_nsec = (nap - whole).count()};
        guard.unlock();
        ppoll(all.data(), all.size(), &most, nullptr);
        guard.lock();
        char bytes[64];
        while (recv(news.first.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
        }
    }
}

void FaultyNetwork::State::look_at_all() {
    for (auto& [port, edge] : edges) {
        edge.accept();
        for (Connection& connection : edge.connections) {
            for (const unsigned way : {Way::there, Way::back}) {
                if (!connection.is_over) {
                    edge.take(connection, way);
                }
                if (!connection.is_over) {
                    edge.pass_on(connection, way);
                }
            }
        }
        std::erase_if(edge.connections, [](const Connection& one) { return one.is_over; });
    }
}

std::vector<pollfd> FaultyNetwork::State::events() const {
    std::vector<pollfd> all = {{news.first.descriptor(), POLLIN, 0}};
    for (const auto& [port, edge] : edges) {
        all.push_back({edge.listener.descriptor(), POLLIN, 0});
        for (const Connection& connection : edge.connections) {
            for (const unsigned way : {Way::there, Way::back}) {
                const Stream& from = connection.stream[way];
                const Stream& to = connection.stream[1 - way];
                const bool takes = !from.has_ended && from.held.size() < kRoom;
                const int wanted = (takes ? POLLIN : 0) | (to.is_full ? POLLOUT : 0);
                // an end that is only asked for nothing would report its hang-up again and again
                const int descriptor = wanted == 0 ? -1 : connection.sender[way].descriptor();
                all.push_back({descriptor, static_cast<short>(wanted), 0});
            }
        }
    }
    return all;
}

/// When the next piece is due.
Clock::time_point FaultyNetwork::State::next_due() const {
    auto next = Clock::now() + std::chrono::seconds(1);
    for (const auto& [port, edge] : edges) {
        for (const Connection& connection : edge.connections) {
            for (const unsigned way : {Way::there, Way::back}) {
                const Stream& stream = connection.stream[way];
                if (!edge.is_cut[way] && !stream.held.empty() && !stream.is_full) {
                    next = std::min(next, stream.due);
                }
            }
        }
    }
    return next;
}

template <class Change>
void FaultyNetwork::State::change(int edge, const Change& how) {
    {
        const std::scoped_lock guard(lock);
        how(edges.at(edge));
    }
    send(news.second.descriptor(), "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

FaultyNetwork::FaultyNetwork(std::uint64_t seed) : state_(new State{.seed = seed}) {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
}

FaultyNetwork::~FaultyNetwork() {
    {
        const std::scoped_lock guard(state_->lock);
        state_->is_over = true;
    }
    state_->news.second.close();
    state_->thread.join();
}

int FaultyNetwork::edge_to(int port, Faults faults) {
    net::Socket listener = net::listen_on(0, net::From::this_machine);
    const int edge = net::local_port(listener);
    {
        const std::scoped_lock guard(state_->lock);
        const std::uint64_t seed = seeded_bits(state_->seed, state_->edges.size());
        state_->edges[edge] =
            Edge{.listener = std::move(listener), .to = port, .faults = faults, .seed = seed};
    }
    state_->change(edge, [](Edge&) {});
    return edge;
}

void FaultyNetwork::cut(int edge, Way::Direction way) {
    state_->change(edge, [&](Edge& one) { one.is_cut[way] = true; });
}

void FaultyNetwork::mend(int edge, Way::Direction way) {
    state_->change(edge, [&](Edge& one) { one.is_cut[way] = false; });
}

void FaultyNetwork::drop(int edge, Way::Direction way, long bytes) {
    state_->change(edge, [&](Edge& one) { one.to_drop[way] += bytes; });
}

void FaultyNetwork::reset(int edge) {
    state_->change(edge, [](Edge& one) { one.reset(); });
}

void FaultyNetwork::reset_after(int edge, Way::Direction way, long bytes) {
    state_->change(edge, [&](Edge& one) { one.until_reset[way] = bytes; });
}

Carried FaultyNetwork::carried(int edge) const {
    const std::scoped_lock guard(state_->lock);
    return state_->edges.at(edge).carried;
}

int FaultyNetwork::open_connections(int edge) const {
    const std::scoped_lock guard(state_->lock);
    const auto& all = state_->edges.at(edge).connections;
    return static_cast<int>(std::ranges::count(all, false, &Connection::is_over));
}

}  // namespace dist::harness
