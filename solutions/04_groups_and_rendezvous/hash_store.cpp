#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

#include <charconv>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <system_error>
#include <unordered_map>

#include "course/runtime/deadline.hpp"

namespace dist {

std::int64_t sum_at(const std::string& key, const std::string& value, std::int64_t amount) {
    std::int64_t sum = 0;
    const char* const end = value.data() + value.size();
    const auto [behind, problem] = std::from_chars(value.data(), end, sum);
    if (problem == std::errc::result_out_of_range || __builtin_add_overflow(sum, amount, &sum)) {
        throw Error("add: the number under " + key + " does not fit into 64 bits");
    }
    if (problem != std::errc() || behind != end) {
        throw Error("add: the value under " + key + " is no number: " + value);
    }
    return sum;
}

struct HashStore::State {
    Duration timeout{};
    std::mutex lock;  // held by whoever calls what stands here
    std::condition_variable value_came;
    std::unordered_map<std::string, std::string> values;

    void put(const std::string& key, const std::string& value) {
        values[key] = value;
        value_came.notify_all();
    }

    /// Those that have no value, each with a space before it.
    std::string missing(const std::vector<std::string>& keys) const {
        std::string text;
        for (const std::string& key : keys) {
            text += values.contains(key) ? "" : " " + key;
        }
        return text;
    }

    /// Lets the lock go while it sleeps.
    void wait(
        const std::vector<std::string>& keys, Duration at_most, std::unique_lock<std::mutex>& guard
    ) {
        const auto end = deadline_after(at_most);
        if (!value_came.wait_until(guard, end, [&] { return missing(keys).empty(); })) {
            throw Timeout(
                "no value after " + std::to_string(at_most.count()) + " ms under:" + missing(keys)
            );
        }
    }
};

HashStore::HashStore(Duration timeout) : state_(new State) {
    state_->timeout = timeout;
}

HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, const std::string& value) {
    const std::scoped_lock guard(state_->lock);
    state_->put(key, value);
}

std::string HashStore::get(const std::string& key) {
    std::unique_lock guard(state_->lock);
    state_->wait({key}, state_->timeout, guard);
    return state_->values.at(key);
}

std::int64_t HashStore::add(const std::string& key, std::int64_t amount) {
    const std::scoped_lock guard(state_->lock);
    const auto found = state_->values.find(key);
    const std::int64_t sum =
        sum_at(key, found == state_->values.end() ? "0" : found->second, amount);
    state_->put(key, std::to_string(sum));
    return sum;
}

std::string HashStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    const std::scoped_lock guard(state_->lock);
    const auto found = state_->values.find(key);
    const bool there = found != state_->values.end();
    if (there ? found->second == expected : expected.empty()) {
        state_->put(key, desired);
        return desired;
    }
    return there ? found->second : expected;
}

bool HashStore::check(const std::vector<std::string>& keys) {
    const std::scoped_lock guard(state_->lock);
    return state_->missing(keys).empty();
}

void HashStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    std::unique_lock guard(state_->lock);
    state_->wait(keys, timeout, guard);
}

bool HashStore::erase(const std::string& key) {
    const std::scoped_lock guard(state_->lock);
    return state_->values.erase(key) > 0;
}

std::int64_t HashStore::num_keys() {
    const std::scoped_lock guard(state_->lock);
    return std::ssize(state_->values);
}

}  // namespace dist
