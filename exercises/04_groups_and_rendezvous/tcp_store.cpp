#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

namespace dist {

struct TcpStore::State {
    // TODO: the connection, and what each call needs of it: send all of a request, receive as many bytes as belong to
    // its reply, wait for a reply but not for ever. course/net/socket.hpp connects, once; course/net/wire.hpp writes
    // numbers and texts.
};

TcpStore::TcpStore(std::string host, int port, Duration timeout) {
    throw NotImplemented("tcp_store");
}

TcpStore::~TcpStore() = default;

void TcpStore::set(const std::string& key, const std::string& value) {
    throw NotImplemented("tcp_store");
}

std::string TcpStore::get(const std::string& key) {
    throw NotImplemented("tcp_store");
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
    throw NotImplemented("tcp_store");
}

std::string TcpStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    throw NotImplemented("tcp_store");
}

bool TcpStore::check(const std::vector<std::string>& keys) {
    throw NotImplemented("tcp_store");
}

void TcpStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    throw NotImplemented("tcp_store");
}

bool TcpStore::erase(const std::string& key) {
    throw NotImplemented("tcp_store");
}

std::int64_t TcpStore::num_keys() {
    throw NotImplemented("tcp_store");
}

}  // namespace dist
