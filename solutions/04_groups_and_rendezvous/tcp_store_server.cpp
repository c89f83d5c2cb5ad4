#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "course/net/wire.hpp"

namespace dist {
namespace {

using net::put, net::put_text;
using Keys = std::vector<std::string>;

constexpr std::uint32_t kMagic = 0x3C85F7CE;
constexpr int kNoOp = 255;

/// Thrown where the rest of a request has not come yet.
struct Incomplete {
    std::size_t missing;  // bytes, at least
};

/// Reads a request from what has come so far.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] std::size_t left() const { return rest_.size(); }

    template <class Number>
    Number number() {
        Number number;
        std::memcpy(&number, take(sizeof number).data(), sizeof number);
        return number;
    }
    std::string key() { return std::string(text(TcpStoreServer::kMaxKey)); }
    std::string_view value() { return text(TcpStoreServer::kMaxValue); }  // not copied: it is long
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
            throw Incomplete{n - rest_.size()};
        }
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return taken;
    }
    std::string_view text(std::size_t most) { return take(length(most)); }

    std::string_view rest_;
};

/// How many bytes recv or send has moved, from what it returned: none, if it would have had to wait.
std::size_t moved(ssize_t n) {
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        throw Error("it has closed the connection");
    }
    return static_cast<std::size_t>(std::max<ssize_t>(n, 0));
}

/// What is known of a client.
struct Connection {
    net::Socket socket;
    std::optional<bool> is_of_pytorch_2 = {};
    std::string in = {};                      // has come, and is no whole request yet
    std::size_t enough = 1;                   // bytes of it with which a look is worth it
    std::string out = {};                     // is to be sent
    std::optional<Keys> waits_for = {};       // until all have a value
    std::optional<std::string> barrier = {};  // it has come to

    void receive() {
        char bytes[1 << 16];
        in.append(bytes, moved(recv(socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT)));
    }

    void send() {
        const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        if (!out.empty()) {
            out.erase(0, moved(::send(socket.descriptor(), out.data(), out.size(), flags)));
        }
    }

    StoreOp next_op(Reader& request) {
        if (!is_of_pytorch_2) {
            Reader first = request;
            is_of_pytorch_2 =
                first.number<unsigned char>() == 0 && first.number<std::uint32_t>() == kMagic;
        }
        int op = request.number<unsigned char>();
        if (!*is_of_pytorch_2 && op != static_cast<int>(StoreOp::erase)) {
            op = op < static_cast<int>(StoreOp::num_keys) ? op + 1 : kNoOp;
        }
        if (op > static_cast<int>(StoreOp::barrier)) {
            throw Error("another language");
        }
        return static_cast<StoreOp>(op);
    }
};

}  // namespace

struct TcpStoreServer::State {
    net::Socket listener;
    std::pair<net::Socket, net::Socket> end = net::connected_pair();  // wakes up the thread
    std::unordered_map<std::string, std::string> values = {};
    std::unordered_map<std::string, std::deque<std::string>> queues = {};
    std::list<Connection> connections = {};
    std::thread thread = {};

    void run() {
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
            for (auto client = connections.begin(); client != connections.end();) {
                const bool stays = (event++)->revents == 0 || serve(*client);
                client = stays ? std::next(client) : connections.erase(client);
            }
            if (net::Socket socket = net::accept_from(listener)) {
                connections.push_back({.socket = std::move(socket)});
            }
        }
    }

    /// Returns whether it stays.
    bool serve(Connection& client) {
        try {
            if (client.out.empty()) {
                client.receive();
            }
            do {
                client.send();
            } while (client.out.empty() && answer_next(client));
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    /// Returns false if no whole request is there.
    bool answer_next(Connection& client) {
        if (client.in.size() < client.enough) {
            return false;
        }
        client.waits_for.reset();  // who asks for something does not wait any more
        client.barrier.reset();
        Reader request(client.in);
        try {
            answer(client.next_op(request), request, client);
        } catch (const Incomplete& incomplete) {
            client.enough = client.in.size() + incomplete.missing;
            return false;
        }
        client.in.erase(0, client.in.size() - request.left());
        client.enough = 1;
        return true;
    }

    // Each op reads all that belongs to it before it does anything: where something is missing, it will be read again.
    void answer(StoreOp op, Reader& request, Connection& client) {
        switch (op) {
            case StoreOp::validate:
                if (request.number<std::uint32_t>() != kMagic) {
                    throw Error("another language");
                }
                return;
            case StoreOp::ping:
                return put(client.out, request.number<std::uint32_t>());
            case StoreOp::check:
                client.out += have_values(request.keys()) ? '\0' : '\1';
                return;
            case StoreOp::wait:
                client.waits_for = request.keys();
                wake(client);
                return;
            case StoreOp::cancel_wait:
                client.out += '\1';
                return;
            case StoreOp::num_keys:
                return put(client.out, static_cast<std::int64_t>(values.size()));
            case StoreOp::list_keys:
                put(client.out, std::uint64_t{values.size()});
                for (const auto& [key, value] : values) {
                    put_text(client.out, key);
                }
                return;
            case StoreOp::multi_get:
                for (const std::string& key : request.keys()) {
                    put_text(client.out, value(key));
                }
                return;
            case StoreOp::multi_set: {
                std::vector<std::pair<std::string, std::string_view>> pairs;
                for (auto left = request.length(kMaxKeys); left > 0; --left) {
                    const std::string key = request.key();
                    pairs.emplace_back(key, request.value());
                }
                for (const auto& [key, value] : pairs) {
                    set(key, std::string(value));
                }
                return;
            }
            default:
                return answer(op, request.key(), request, client);
        }
    }

    /// What is asked of one key.
    void answer(StoreOp op, const std::string& key, Reader& request, Connection& client) {
        switch (op) {
            case StoreOp::set:
                return set(key, std::string(request.value()));
            case StoreOp::append:
                return set(key, value(key).append(request.value()));
            case StoreOp::compare_set: {
                const std::string expected(request.value());
                const std::string desired(request.value());
                if (value(key) == expected) {
                    set(key, desired);
                }
                return put_text(client.out, values.contains(key) ? value(key) : expected);
            }
            case StoreOp::get:
                return put_text(client.out, value(key));
            case StoreOp::add:
                return put(client.out, add(key, request.number<std::int64_t>()));
            case StoreOp::erase:
                return put(client.out, static_cast<std::int64_t>(values.erase(key)));
            case StoreOp::queue_push: {
                const std::string value(request.value());
                queues[key].push_back(value);
                return wake(key, 1);
            }
            case StoreOp::queue_length:
                return put(client.out, static_cast<std::int64_t>(queue_length(key)));
            case StoreOp::queue_pop:
                put(client.out, std::uint64_t{queue_length(key) > 0});
                if (queue_length(key) > 0) {
                    put_text(client.out, queues[key].front());
                    queues[key].pop_front();
                }
                return;
            default: {
                const auto n = request.number<std::int64_t>();
                client.barrier = key;
                return pass_barrier(key, n);
            }
        }
    }

    void pass_barrier(const std::string& key, std::int64_t n) {
        const auto is_there = [&](const Connection& one) { return one.barrier == key; };
        if (std::ranges::count_if(connections, is_there) < n) {
            return;
        }
        for (Connection& one : connections) {
            if (is_there(one)) {
                one.out += '\0';
                one.barrier.reset();
            }
        }
    }

    void set(const std::string& key, std::string value) {
        values[key] = std::move(value);
        wake(key, connections.size());
    }

    std::int64_t add(const std::string& key, std::int64_t amount) {
        const std::string number = values.contains(key) ? value(key) : "0";
        const char* const last = number.data() + number.size();
        std::int64_t sum = 0;
        const auto [rest, error] = std::from_chars(number.data(), last, sum);
        if (error != std::errc() || rest != last || __builtin_add_overflow(sum, amount, &sum)) {
            throw Error("no number, or the sum does not fit");
        }
        set(key, std::to_string(sum));
        return sum;
    }

    std::string value(const std::string& key) const {
        return values.contains(key) ? values.at(key) : "";
    }

    std::size_t queue_length(const std::string& key) const {
        return queues.contains(key) ? queues.at(key).size() : 0;
    }

    bool have_values(const Keys& keys) const {
        return std::ranges::all_of(keys, [&](const std::string& key) {
            return values.contains(key) || queue_length(key) > 0;
        });
    }

    /// A key has got a value: answers those that wait for it, but at most so many.
    void wake(const std::string& key, std::size_t most) {
        for (Connection& one : connections) {
            if (most > 0 && one.waits_for && std::ranges::count(*one.waits_for, key) > 0 &&
                wake(one)) {
                --most;
            }
        }
    }

    /// Answers a client that waits, if all is there now. Returns whether it was.
    bool wake(Connection& client) {
        const bool all_there = have_values(*client.waits_for);
        if (all_there) {
            client.out += '\0';
            client.waits_for.reset();
        }
        return all_there;
    }
};

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
