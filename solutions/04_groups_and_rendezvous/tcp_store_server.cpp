#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <poll.h>
#include <ranges>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"

namespace dist {
namespace {

using Keys = std::vector<std::string>;

constexpr std::uint32_t kMagic = 0x3C85F7CE;
constexpr int kNoOp = 255;
static_assert(std::endian::native == std::endian::little, "numbers travel as they stand in memory");

template <class Number>
void put(std::string& message, Number number) {
    const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number);
    message.append(bytes.data(), bytes.size());
}

void put_text(std::string& message, std::string_view text) {
    put(message, std::uint64_t{text.size()});
    message += text;
}

/// Thrown where the rest of a request has not come yet.
struct Incomplete {};

/// Reads a request from what has come so far.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

    [[nodiscard]] std::size_t used() const { return size_ - rest_.size(); }

    template <class Number>
    Number number() {
        Number number;
        std::memcpy(&number, take(sizeof number).data(), sizeof number);
        return number;
    }
    std::string key() { return text(TcpStoreServer::kMaxKey); }
    std::string value() { return text(TcpStoreServer::kMaxValue); }
    std::uint64_t length(std::size_t most) {
        const auto length = number<std::uint64_t>();
        if (length > most) {
            throw Error("longer than the server takes");
        }
        return length;
    }
    Keys keys() {
        Keys keys;
        for (auto left = length(TcpStoreServer::kMaxKeys); left > 0; --left) {
            keys.push_back(key());
        }
        return keys;
    }

  private:
    std::string_view take(std::size_t n) {
        if (n > rest_.size()) {
            throw Incomplete();
        }
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return taken;
    }
    std::string text(std::size_t most) { return std::string(take(length(most))); }

    std::string_view rest_;
    std::size_t size_;
};

/// What is known of a client.
struct Connection {
    enum class Dialect { unknown, pytorch_1, pytorch_2 };

    net::Socket socket;
    Dialect dialect = Dialect::unknown;
    std::string in = {};                      // has come, and is no whole request yet
    std::string out = {};                     // is to be sent
    std::optional<Keys> waits_for = {};       // until all have a value
    std::optional<std::string> barrier = {};  // it has come to
    bool is_gone = false;

    void receive();
    void send();
    StoreOp next_op(Reader& request);
};

void Connection::receive() {
    char bytes[1 << 16];
    const ssize_t n = recv(socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
        in.append(bytes, static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        throw Error("it has closed the connection");
    }
}

void Connection::send() {
    if (out.empty()) {
        return;
    }
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const ssize_t n = ::send(socket.descriptor(), out.data(), out.size(), flags);
    if (n >= 0) {
        out.erase(0, static_cast<std::size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
        throw Error("it has closed the connection");
    }
}

StoreOp Connection::next_op(Reader& request) {
    if (dialect == Dialect::unknown) {
        Reader first = request;
        const bool validates =
            first.number<unsigned char>() == 0 && first.number<std::uint32_t>() == kMagic;
        dialect = validates ? Dialect::pytorch_2 : Dialect::pytorch_1;
    }
    int op = request.number<unsigned char>();
    if (dialect == Dialect::pytorch_1 && op != static_cast<int>(StoreOp::erase)) {
        op = op < static_cast<int>(StoreOp::num_keys) ? op + 1 : kNoOp;
    }
    if (op > static_cast<int>(StoreOp::barrier)) {
        throw Error("another language");
    }
    return static_cast<StoreOp>(op);
}

}  // namespace

struct TcpStoreServer::State {
    net::Socket listener;
    std::pair<net::Socket, net::Socket> end =
        net::connected_pair();  // written to wake up the thread
    std::unordered_map<std::string, std::string> values = {};
    std::unordered_map<std::string, std::deque<std::string>> queues = {};
    std::list<Connection> connections = {};
    std::thread thread = {};

    void run();
    void serve(Connection& client);
    bool answer_next(Connection& client);
    void answer(StoreOp op, Reader& request, Connection& client);
    void answer_2(StoreOp op, Reader& request, Connection& client);
    void answer_queue(StoreOp op, Reader& request, Connection& client);
    void pass_barrier(const std::string& key, std::int64_t n);
    void set(const std::string& key, std::string value);
    std::int64_t add(const std::string& key, std::int64_t amount);
    [[nodiscard]] std::string value(const std::string& key) const;
    [[nodiscard]] bool have_values(const Keys& keys) const;
    void wake(std::size_t most);
};

void TcpStoreServer::State::run() {
    for (;;) {
        std::vector<pollfd> events = {
            {end.first.descriptor(), POLLIN, 0}, {listener.descriptor(), POLLIN, 0}};
        for (const Connection& client : connections) {
            // who does not read its replies is not read from either
            const short event = client.out.empty() ? POLLIN : POLLOUT;
            events.push_back({client.socket.descriptor(), event, 0});
        }
        poll(events.data(), events.size(), -1);
        if (events[0].revents != 0) {
            return;
        }
        auto event = events.begin() + 2;
        for (Connection& client : connections) {
            if ((event++)->revents != 0) {
                serve(client);
            }
        }
        std::erase_if(connections, [](const Connection& client) { return client.is_gone; });
        if (net::Socket socket = net::accept_from(listener)) {
            connections.push_back({.socket = std::move(socket)});
        }
    }
}

void TcpStoreServer::State::serve(Connection& client) {
    try {
        if (client.out.empty()) {
            client.receive();
        }
        do {
            client.send();
        } while (client.out.empty() && answer_next(client));
    } catch (const Error&) {
        client.is_gone = true;
        client.waits_for.reset();
        client.barrier.reset();
    }
}

/// Returns false if no whole request is there.
bool TcpStoreServer::State::answer_next(Connection& client) {
    if (client.in.empty()) {
        return false;
    }
    client.waits_for.reset();  // who asks for something does not wait any more
    client.barrier.reset();
    Reader request(client.in);
    try {
        const StoreOp op = client.next_op(request);
        answer(op, request, client);
    } catch (const Incomplete&) {
        return false;
    }
    client.in.erase(0, request.used());
    return true;
}

// Each op reads all that belongs to it before it does anything: where something is missing, it will be read again.
void TcpStoreServer::State::answer(StoreOp op, Reader& request, Connection& client) {
    switch (op) {
        case StoreOp::set: {
            const std::string key = request.key();
            return set(key, request.value());
        }
        case StoreOp::compare_set: {
            const std::string key = request.key();
            const std::string expected = request.value();
            const std::string desired = request.value();
            if (value(key) == expected && (values.contains(key) || expected.empty())) {
                set(key, desired);
            }
            return put_text(client.out, values.contains(key) ? value(key) : expected);
        }
        case StoreOp::get:
            return put_text(client.out, value(request.key()));
        case StoreOp::add: {
            const std::string key = request.key();
            return put(client.out, add(key, request.number<std::int64_t>()));
        }
        case StoreOp::check:
            client.out += have_values(request.keys()) ? '\0' : '\1';
            return;
        case StoreOp::wait:
            client.waits_for = request.keys();
            return wake(connections.size());
        case StoreOp::num_keys:
            return put(client.out, static_cast<std::int64_t>(values.size()));
        case StoreOp::erase:
            return put(client.out, static_cast<std::int64_t>(values.erase(request.key())));
        default:
            return answer_2(op, request, client);
    }
}

/// What PyTorch 2.x alone asks for.
void TcpStoreServer::State::answer_2(StoreOp op, Reader& request, Connection& client) {
    switch (op) {
        case StoreOp::validate:
            if (request.number<std::uint32_t>() != kMagic) {
                throw Error("another language");
            }
            return;
        case StoreOp::ping:
            return put(client.out, request.number<std::uint32_t>());
        case StoreOp::cancel_wait:
            client.out += '\1';
            return;
        case StoreOp::append: {
            const std::string key = request.key();
            return set(key, value(key) + request.value());
        }
        case StoreOp::multi_get:
            for (const std::string& key : request.keys()) {
                put_text(client.out, value(key));
            }
            return;
        case StoreOp::multi_set: {
            std::vector<std::pair<std::string, std::string>> pairs;
            for (auto left = request.length(kMaxKeys); left > 0; --left) {
                const std::string key = request.key();
                pairs.emplace_back(key, request.value());
            }
            for (const auto& [key, value] : pairs) {
                set(key, value);
            }
            return;
        }
        case StoreOp::list_keys:
            put(client.out, std::uint64_t{values.size()});
            for (const auto& [key, value] : values) {
                put_text(client.out, key);
            }
            return;
        case StoreOp::barrier: {
            const std::string key = request.key();
            const auto n = request.number<std::int64_t>();
            client.barrier = key;
            return pass_barrier(key, n);
        }
        default:
            return answer_queue(op, request, client);
    }
}

void TcpStoreServer::State::answer_queue(StoreOp op, Reader& request, Connection& client) {
    const std::string key = request.key();
    if (op == StoreOp::queue_push) {
        const std::string value = request.value();
        queues[key].push_back(value);
        return wake(1);
    }
    const auto found = queues.find(key);
    const std::size_t length = found == queues.end() ? 0 : found->second.size();
    if (op == StoreOp::queue_length) {
        return put(client.out, static_cast<std::int64_t>(length));
    }
    put(client.out, std::uint64_t{length == 0 ? 0U : 1U});
    if (length > 0) {
        put_text(client.out, found->second.front());
        found->second.pop_front();
    }
}

void TcpStoreServer::State::pass_barrier(const std::string& key, std::int64_t n) {
    const auto is_there = [&](const Connection& one) { return one.barrier == key; };
    if (std::ranges::count_if(connections, is_there) < n) {
        return;
    }
    for (Connection& one : connections | std::views::filter(is_there)) {
        one.out += '\0';
        one.barrier.reset();
    }
}

void TcpStoreServer::State::set(const std::string& key, std::string value) {
    values[key] = std::move(value);
    wake(connections.size());
}

std::int64_t TcpStoreServer::State::add(const std::string& key, std::int64_t amount) {
    std::int64_t sum = 0;
    if (const auto found = values.find(key); found != values.end()) {
        const char* const last = found->second.data() + found->second.size();
        const auto read = std::from_chars(found->second.data(), last, sum);
        if (read.ec != std::errc() || read.ptr != last) {
            throw Error("no number");
        }
    }
    if (__builtin_add_overflow(sum, amount, &sum)) {
        throw Error("the sum does not fit");
    }
    set(key, std::to_string(sum));
    return sum;
}

std::string TcpStoreServer::State::value(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
}

bool TcpStoreServer::State::have_values(const Keys& keys) const {
    return std::ranges::all_of(keys, [&](const std::string& key) {
        const auto queue = queues.find(key);
        return values.contains(key) || (queue != queues.end() && !queue->second.empty());
    });
}

/// Answers those that wait for what is there now, but at most so many.
void TcpStoreServer::State::wake(std::size_t most) {
    for (Connection& one : connections) {
        if (most > 0 && one.waits_for && have_values(*one.waits_for)) {
            one.out += '\0';
            one.waits_for.reset();
            --most;
        }
    }
}

TcpStoreServer::TcpStoreServer(int port) : state_(new State{.listener = net::listen_on(port)}) {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
}

TcpStoreServer::~TcpStoreServer() {
    state_->end.second.close();
    state_->thread.join();
}

int TcpStoreServer::port() const {
    return net::local_port(state_->listener);
}

}  // namespace dist
