// A thread's way to a store: it counts the calls, and a test may do something before and after each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "course/runtime/store.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

/// Before each call another thread may go on.
class HookedStore : public Store {
  public:
    using Hook = std::function<void(long number)>;

    /// Called before and after each call, with its number: 1, 2, ... Time may pass there. What is
    /// thrown comes out of the call: of one that has not been made, or of one that has been, and
    /// whose answer is lost.
    Hook before = [](long) {};
    Hook after = [](long) {};

    long calls = 0;
    std::int64_t most_keys = 0;  // that there were after a call

    HookedStore(Store& shared, VirtualTime& time) : shared_(shared), time_(time) {}

    void set(const std::string& key, const std::string& value) override {
        through([&] {
            shared_.set(key, value);
            return true;
        });
    }
    std::string get(const std::string& key) override {
        return through([&] { return shared_.get(key); });
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return through([&] { return shared_.add(key, amount); });
    }
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override {
        return through([&] { return shared_.compare_set(key, expected, desired); });
    }
    bool check(const std::vector<std::string>& keys) override {
        return through([&] { return shared_.check(keys); });
    }
    void wait(const std::vector<std::string>& keys, Duration timeout) override {
        through([&] {
            shared_.wait(keys, timeout);
            return true;
        });
    }
    bool erase(const std::string& key) override {
        return through([&] { return shared_.erase(key); });
    }
    std::int64_t num_keys() override {
        return through([&] { return shared_.num_keys(); });
    }

  private:
    template <class Call>
    std::invoke_result_t<const Call&> through(const Call& call) {
        const long number = ++calls;
        time_.pass();
        before(number);
        auto answer = call();
        most_keys = std::max(most_keys, shared_.num_keys());
        after(number);
        return answer;
    }

    Store& shared_;
    VirtualTime& time_;
};

}  // namespace dist::harness
