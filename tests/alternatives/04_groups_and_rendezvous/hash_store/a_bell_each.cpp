// Each call that waits has a condition of its own, and only those are woken whose keys are all there. The number is read
// digit by digit.
#include <algorithm>
#include <condition_variable>
#include <limits>
#include <list>
#include <map>
#include <mutex>

#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

namespace dist {

std::int64_t sum_at(const std::string& key, const std::string& value, std::int64_t amount) {
    const bool negative = !value.empty() && value[0] == '-';
    const std::size_t begin = negative ? 1 : 0;
    bool right = value.size() > begin;
    __int128 number = 0;
    constexpr __int128 kMost = std::numeric_limits<std::int64_t>::max();
    constexpr __int128 kLeast = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = begin; right && i < value.size(); ++i) {
        right = value[i] >= '0' && value[i] <= '9';
        number = 10 * number + (value[i] - '0');
        right = right && number <= kMost + 1;
    }
    number = negative ? -number : number;
    right = right && number >= kLeast && number <= kMost;
    number += amount;
    if (!right || number < kLeast || number > kMost) {
        throw Error("add: " + key + " has no number, or one that does not fit");
    }
    return static_cast<std::int64_t>(number);
}

struct HashStore::State {
    struct Waiter {
        const std::vector<std::string>& keys;
        std::condition_variable bell = {};
    };
    Duration timeout{};
    std::mutex lock;
    std::map<std::string, std::string> values;
    std::list<Waiter> waiters;

    [[nodiscard]] bool has(const std::vector<std::string>& keys) const {
        return std::all_of(keys.begin(), keys.end(), [this](const std::string& key) {
            return values.count(key) > 0;
        });
    }

    void put(const std::string& key, const std::string& value) {
        values.insert_or_assign(key, value);
        for (Waiter& waiter : waiters) {
            if (has(waiter.keys)) {
                waiter.bell.notify_one();
            }
        }
    }

    void wait(
        const std::vector<std::string>& keys, Duration at_most, std::unique_lock<std::mutex>& guard
    ) {
        const auto end = deadline_after(at_most);
        const auto mine = waiters.emplace(waiters.end(), keys);
        const bool came = mine->bell.wait_until(guard, end, [&] { return has(keys); });
        waiters.erase(mine);
        if (!came) {
            std::string text = "timeout:";
            for (const std::string& key : keys) {
                if (values.count(key) == 0) {
                    text += " [" + key + "]";
                }
            }
            throw Timeout(text);
        }
    }
};

HashStore::HashStore(Duration timeout) : state_(std::make_unique<State>()) {
    state_->timeout = timeout;
}

HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, const std::string& value) {
    const std::lock_guard guard(state_->lock);
    state_->put(key, value);
}

std::string HashStore::get(const std::string& key) {
    std::unique_lock guard(state_->lock);
    state_->wait({key}, state_->timeout, guard);
    return state_->values.at(key);
}

std::int64_t HashStore::add(const std::string& key, std::int64_t amount) {
    const std::lock_guard guard(state_->lock);
    std::string before = "0";
    if (state_->has({key})) {
        before = state_->values.at(key);
    }
    const std::int64_t sum = sum_at(key, before, amount);
    state_->put(key, std::to_string(sum));
    return sum;
}

std::string HashStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    const std::lock_guard guard(state_->lock);
    if (!state_->has({key})) {
        if (!expected.empty()) {
            return expected;
        }
        state_->put(key, desired);
    } else if (state_->values.at(key) == expected) {
        state_->put(key, desired);
    }
    return state_->values.at(key);
}

bool HashStore::check(const std::vector<std::string>& keys) {
    const std::lock_guard guard(state_->lock);
    return state_->has(keys);
}

void HashStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    std::unique_lock guard(state_->lock);
    state_->wait(keys, timeout, guard);
}

bool HashStore::erase(const std::string& key) {
    const std::lock_guard guard(state_->lock);
    return state_->values.erase(key) == 1;
}

std::int64_t HashStore::num_keys() {
    const std::lock_guard guard(state_->lock);
    return static_cast<std::int64_t>(state_->values.size());
}

}  // namespace dist
