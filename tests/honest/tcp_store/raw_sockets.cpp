// Sockets as in a book, and nothing of the course's.
// state: pass

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

namespace dist {
namespace {

using Clock = std::chrono::steady_clock;
using Keys = std::vector<std::string>;

constexpr std::uint32_t kMagic = 0x3C85F7CE;
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

constexpr Store::Duration kFirstPause(10);
constexpr Store::Duration kLongestPause(1000);

Clock::time_point after(Store::Duration timeout) {
    return Clock::now() + std::min<Store::Duration>(timeout, std::chrono::years(1));
}

Store::Duration until(Clock::time_point end) {
    return std::max(Store::Duration(0), std::chrono::ceil<Store::Duration>(end - Clock::now()));
}

std::string request(StoreOp op) {
    return {static_cast<char>(op)};
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

/// A descriptor, as in a book on sockets.
class Line {
  public:
    Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line() { hang_up(); }

    void hang_up() {
        if (number_ >= 0) {
            ::close(number_);
        }
        number_ = -1;
    }
    void dial(const std::string& host, int port) {
        hang_up();
        addrinfo wanted{};
        wanted.ai_family = AF_UNSPEC;
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* list = nullptr;
        const std::string where = host + ":" + std::to_string(port);
        const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
        if (code != 0) {
            throw Error(where + ": " + gai_strerror(code));
        }
        int failed = -1;
        for (const addrinfo* at = list; at != nullptr && failed != 0; at = at->ai_next) {
            hang_up();
            number_ = socket(at->ai_family, at->ai_socktype, 0);
            failed = ::connect(number_, at->ai_addr, at->ai_addrlen);
        }
        freeaddrinfo(list);
        if (failed != 0) {
            throw Error(where + ": " + std::strerror(errno));
        }
        const int at_once = 1;
        setsockopt(number_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    }
    [[nodiscard]] int descriptor() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

  private:
    int number_ = -1;
};

}  // namespace

struct TcpStore::State {
    std::string host;
    int port = 0;
    Duration timeout{};
    Duration patience{};
    std::mutex one_call_at_a_time;
    Line server;

    void connect(Duration patience);
    std::unique_lock<std::mutex> begin_call();
    bool wait(const Keys& keys, Duration patience);
    bool check(const Keys& keys);
    [[noreturn]] void fail(const std::string& why);
    bool comes(short event, Duration patience);
    void send(std::string_view message);
    void receive(char* bytes, std::size_t n);
    template <class Number>
    Number number();
    std::string text();
};

[[noreturn]] void TcpStore::State::fail(const std::string& why) {
    server.hang_up();  // replies may be on the way: nobody could tell whose
    throw Error("TcpStore: " + host + ":" + std::to_string(port) + " " + why);
}

/// Sleeps until the socket can be read or written; false if that takes too long.
bool TcpStore::State::comes(short event, Duration patience) {
    const auto end = after(patience);
    for (;;) {
        pollfd events = {server.descriptor(), event, 0};
        const auto nap = std::min<Duration>(until(end), std::chrono::hours(1));
        if (poll(&events, 1, static_cast<int>(nap.count())) > 0) {
            return true;
        }
        if (Clock::now() >= end) {
            return false;
        }
    }
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
        } else if (errno != EAGAIN && errno != EINTR) {
            fail(std::string("cannot be written to: ") + std::strerror(errno));
        }
    }
}

void TcpStore::State::receive(char* bytes, std::size_t n) {
    while (n > 0) {
        if (!comes(POLLIN, patience)) {
            fail("does not answer");
        }
        const ssize_t got = read(server.descriptor(), bytes, n);
        if (got == 0) {
            fail("has closed the connection");
        }
        if (got > 0) {
            bytes += got;
            n -= static_cast<std::size_t>(got);
        } else if (errno != EAGAIN && errno != EINTR) {
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

void TcpStore::State::connect(Duration patience) {
    server.dial(host, port);
    const auto mine = static_cast<std::uint32_t>(port);
    std::string hello = request(StoreOp::validate);
    put(hello, kMagic);
    hello += request(StoreOp::ping);
    put(hello, mine);
    send(hello);
    if (!comes(POLLIN, patience) || number<std::uint32_t>() != mine) {
        fail("does not answer as a store does");
    }
}

/// Returns whether all came in time; if not, the server does not think of it any more.
bool TcpStore::State::wait(const Keys& keys, Duration patience) {
    std::string message = request(StoreOp::wait);
    put_keys(message, keys);
    send(message);
    if (comes(POLLIN, patience)) {
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
        connect(timeout);
    }
    return call;
}

TcpStore::TcpStore(std::string host, int port, Duration timeout) : state_(new State) {
    state_->host = std::move(host);
    state_->port = port;
    state_->timeout = timeout;
    state_->patience = std::max(timeout, Duration(1000));
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
