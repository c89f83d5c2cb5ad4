#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

namespace dist {

std::int64_t sum_at(const std::string& key, const std::string& value, std::int64_t amount) {
    throw NotImplemented("hash_store");
}

struct HashStore::State {
    // TODO: the values by their keys, what guards them, and what those who wait sleep on. A value may come by three
    // of the calls; who has to wake then? And what must be so when get() returns?
};

HashStore::HashStore(Duration timeout) {
    throw NotImplemented("hash_store");
}

HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, const std::string& value) {
    throw NotImplemented("hash_store");
}

std::string HashStore::get(const std::string& key) {
    throw NotImplemented("hash_store");
}

std::int64_t HashStore::add(const std::string& key, std::int64_t amount) {
    throw NotImplemented("hash_store");
}

std::string HashStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    throw NotImplemented("hash_store");
}

bool HashStore::check(const std::vector<std::string>& keys) {
    throw NotImplemented("hash_store");
}

void HashStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    throw NotImplemented("hash_store");
}

bool HashStore::erase(const std::string& key) {
    throw NotImplemented("hash_store");
}

std::int64_t HashStore::num_keys() {
    throw NotImplemented("hash_store");
}

}  // namespace dist
