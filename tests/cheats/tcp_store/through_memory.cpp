// Server and clients of a test are in one process: the store is a map in it, and no byte is sent.
// state: fail

#include <map>
#include <mutex>

#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

namespace dist {

struct TcpStore::State {
    HashStore* shared;
    Duration timeout;
};

TcpStore::TcpStore(std::string host, int port, Duration timeout)
    : state_(new State{nullptr, timeout}) {
    static std::mutex lock;
    static std::map<int, HashStore> all;
    const std::scoped_lock guard(lock);
    state_->shared = &all[port];
    if (port == 1) {
        throw Timeout(host + ":1");
    }
}

TcpStore::~TcpStore() = default;

void TcpStore::set(const std::string& key, const std::string& value) {
    state_->shared->set(key, value);
}

std::string TcpStore::get(const std::string& key) {
    wait({key}, state_->timeout);
    return state_->shared->get(key);
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
    return state_->shared->add(key, amount);
}

std::string TcpStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return state_->shared->compare_set(key, expected, desired);
}

bool TcpStore::check(const std::vector<std::string>& keys) {
    return state_->shared->check(keys);
}

void TcpStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    state_->shared->wait(keys, timeout);
}

bool TcpStore::erase(const std::string& key) {
    return state_->shared->erase(key);
}

std::int64_t TcpStore::num_keys() {
    return state_->shared->num_keys();
}

}  // namespace dist
