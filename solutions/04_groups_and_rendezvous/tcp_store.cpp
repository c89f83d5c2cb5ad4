#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "course/net/socket.hpp"
#include "course/net/wire.hpp"
#include "course/runtime/deadline.hpp"

namespace dist {
namespace {

using Clock = std::chrono::steady_clock;
using Keys = std::vector<std::string>;
using net::put, net::put_text;

constexpr std::uint32_t kMagic = 0x3C85F7CE;

constexpr Store::Duration kFirstPause(10);
constexpr Store::Duration kLongestPause(1000);
constexpr Store::Duration kLeastPatience(1000);

Clock::time_point after(Store::Duration timeout) {
    return deadline_after(timeout);
}

Store::Duration until(Clock::time_point end) {
    return std::max(Store::Duration(0), std::chrono::ceil<Store::Duration>(end - Clock::now()));
}

std::string request(StoreOp op) {
    return {static_cast<char>(op)};
}

/// Whether a call that did not wait, and has failed, may be made again.
bool may_come_again() {
    return errno == EAGAIN || errno == EINTR;
}

void put_key(std::string& message, const std::string& key) {
    expects(
        key.size() < TcpStoreServer::kMaxKey, "TcpStore: the key is longer than the server takes"
    );
    put_text(message, "/" + key);
}

void put_value(std::string& message, const std::string& value) {
    expects(
        value.size() <= TcpStoreServer::kMaxValue,
        "TcpStore: the value is longer than the server takes"
    );
    put_text(message, value);
}

void put_keys(std::string& message, const Keys& keys) {
    expects(keys.size() <= TcpStoreServer::kMaxKeys, "TcpStore: more keys than the server takes");
    put(message, std::uint64_t{keys.size()});
    for (const std::string& key : keys) {
        put_key(message, key);
    }
}

}  // namespace

struct TcpStore::State {
    std::string host;
    int port;
    Duration timeout;
    Duration patience = std::max(timeout, kLeastPatience);  // with a server that owes a reply
    std::mutex one_call_at_a_time = {};
    net::Socket server = {};

    void connect(Duration most);
    std::unique_lock<std::mutex> begin_call();
    bool wait(const Keys& keys, Duration most);
    bool check(const Keys& keys);
    [[noreturn]] void fail(const std::string& why);
    bool comes(short event, Duration most);
    void send(std::string_view message);
    void receive(char* bytes, std::size_t n);
    template <class Number>
    Number number();
    std::string text();
};

[[noreturn]] void TcpStore::State::fail(const std::string& why) {
    server.close();  // replies may be on the way: nobody could tell whose
    throw Error("TcpStore: " + host + ":" + std::to_string(port) + " " + why);
}

/// Sleeps until the socket can be read or written; false if that takes too long.
bool TcpStore::State::comes(short event, Duration most) {
    return net::ready_before(server, event, after(most));
}

void TcpStore::State::send(std::string_view message) {
    while (!message.empty()) {
        if (!comes(POLLOUT, patience)) {
            fail("takes no request");
        }
        const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        const ssize_t n = ::send(server.descriptor(), message.data(), message.size(), flags);
        if (n >= 0) {
            message.remove_prefix(static_cast<std::size_t>(n));
        } else if (!may_come_again()) {
            fail(std::string("cannot be written to: ") + std::strerror(errno));
        }
    }
}

void TcpStore::State::receive(char* bytes, std::size_t n) {
    while (n > 0) {
        if (!comes(POLLIN, patience)) {
            fail("does not answer");
        }
        const ssize_t got = recv(server.descriptor(), bytes, n, MSG_DONTWAIT);
        if (got == 0) {
            fail("has closed the connection");
        }
        if (got > 0) {
            bytes += got;
            n -= static_cast<std::size_t>(got);
        } else if (!may_come_again()) {
            fail(std::string("cannot be read from: ") + std::strerror(errno));
        }
    }
}

template <class Number>
Number TcpStore::State::number() {
    Number number;
    receive(reinterpret_cast<char*>(&number), sizeof number);
    return number;
}

std::string TcpStore::State::text() {
    std::string text;
    for (auto left = number<std::uint64_t>(); left > 0;) {
        // no more memory than has been filled: who knows who has sent this length
        const std::size_t piece = std::min<std::uint64_t>(left, 1 << 20);
        text.resize(text.size() + piece);
        receive(text.data() + text.size() - piece, piece);
        left -= piece;
    }
    return text;
}

void TcpStore::State::connect(Duration most) {
    server = net::connect_to(host, port, most);
    const auto mine = static_cast<std::uint32_t>(port);
    std::string hello = request(StoreOp::validate);
    put(hello, kMagic);
    hello += request(StoreOp::ping);
    put(hello, mine);
    send(hello);
    if (!comes(POLLIN, most) || number<std::uint32_t>() != mine) {
        fail("does not answer as a store does");
    }
}

/// Returns whether all came in time; if not, the server does not think of it any more.
bool TcpStore::State::wait(const Keys& keys, Duration most) {
    std::string message = request(StoreOp::wait);
    put_keys(message, keys);
    send(message);
    if (comes(POLLIN, most)) {
        number<unsigned char>();
        return true;
    }
    send(request(StoreOp::cancel_wait));
    constexpr unsigned char kCancelled = 1;
    if (number<unsigned char>() == kCancelled) {
        return false;
    }
    number<unsigned char>();  // they came just before the server read of it: two replies
    return true;
}

bool TcpStore::State::check(const Keys& keys) {
    std::string message = request(StoreOp::check);
    put_keys(message, keys);
    send(message);
    return number<unsigned char>() == 0;
}

std::unique_lock<std::mutex> TcpStore::State::begin_call() {
    std::unique_lock call(one_call_at_a_time);
    if (!server) {
        connect(patience);
    }
    return call;
}

TcpStore::TcpStore(std::string host, int port, Duration timeout)
    : state_(new State{.host = std::move(host), .port = port, .timeout = timeout}) {
    const auto end = after(timeout);
    for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
        try {
            state_->connect(until(end));
            return;
        } catch (const Error& error) {
            if (Clock::now() >= end) {
                throw Timeout(error.what());
            }
        }
        std::this_thread::sleep_for(std::min(pause, until(end)));
    }
}

TcpStore::~TcpStore() = default;

void TcpStore::set(const std::string& key, const std::string& value) {
    std::string message = request(StoreOp::set);
    put_key(message, key);
    put_value(message, value);
    const auto call = state_->begin_call();
    state_->send(message);
}

std::string TcpStore::get(const std::string& key) {
    std::string message = request(StoreOp::get);
    put_key(message, key);
    const auto call = state_->begin_call();
    if (!state_->wait({key}, state_->timeout)) {
        throw Timeout("TcpStore: no value in time: " + key);
    }
    state_->send(message);
    return state_->text();
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
    std::string message = request(StoreOp::add);
    put_key(message, key);
    put(message, amount);
    const auto call = state_->begin_call();
    try {
        state_->send(message);
        return state_->number<std::int64_t>();
    } catch (const Error& error) {
        throw Error(
            std::string(error.what()) + ", as if no number stood under " + key +
            ", or the sum did not fit"
        );
    }
}

std::string TcpStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    std::string message = request(StoreOp::compare_set);
    put_key(message, key);
    put_value(message, expected);
    put_value(message, desired);
    const auto call = state_->begin_call();
    state_->send(message);
    return state_->text();
}

bool TcpStore::check(const std::vector<std::string>& keys) {
    const auto call = state_->begin_call();
    return state_->check(keys);
}

void TcpStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    const auto call = state_->begin_call();
    if (state_->wait(keys, timeout)) {
        return;
    }
    std::string missing;
    for (const std::string& key : keys) {
        if (keys.size() == 1 || !state_->check({key})) {
            missing += " " + key;
        }
    }
    throw Timeout("TcpStore: no value in time:" + missing);
}

bool TcpStore::erase(const std::string& key) {
    std::string message = request(StoreOp::erase);
    put_key(message, key);
    const auto call = state_->begin_call();
    state_->send(message);
    return state_->number<std::int64_t>() > 0;
}

std::int64_t TcpStore::num_keys() {
    const auto call = state_->begin_call();
    state_->send(request(StoreOp::num_keys));
    return state_->number<std::int64_t>();
}

}  // namespace dist
