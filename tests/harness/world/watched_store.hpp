// A small store for the threads of a test, which keeps what is done to it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/store.hpp"

namespace dist::harness {

class WatchedStore : public Store {
  public:
    /// Called before each call that reads or changes something, with its name: another thread may
    /// go on here.
    std::function<void(const std::string& call)> before = [](const std::string&) {};

    /// What another node makes of a value just before it is changed to `desired`; nothing: it is
    /// not there. It comes once.
    std::function<std::optional<std::string>(const std::string& value, const std::string& desired)>
        rival;

    std::vector<std::string>
        values;  // all that came to stand there, one after the other, whatever their key
    std::set<std::string> keys;   // that were used
    std::set<std::string> calls;  // that were made
    long lost = 0;  // calls of compare_set that found another value than they expected
    long told = 0;  // values that calls of get and compare_set returned

    /// Another node writes, and nobody is asked before.
    void comes(const std::string& key, const std::string& value) {
        const std::scoped_lock guard(lock_);
        put(key, value);
    }

    void set(const std::string& key, const std::string& value) override {
        const auto guard = enter("set", key);
        let_rival_go_first(key, value);
        put(key, value);
    }

    /// Waits for nothing: there is nobody who could set it while this thread has its turn.
    std::string get(const std::string& key) override {
        const auto guard = enter("get", key);
        ++told;
        const auto found = values_.find(key);
        if (found == values_.end()) {
            throw Timeout("get(): nothing stands under the key " + key);
        }
        return found->second;
    }

    std::int64_t add(const std::string& key, std::int64_t amount) override {
        const auto guard = enter("add", key);
        const auto found = values_.find(key);
        const std::int64_t sum = amount + (found == values_.end() ? 0 : std::stoll(found->second));
        put(key, std::to_string(sum));
        return sum;
    }

    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override {
        const auto guard = enter("compare_set", key);
        ++told;
        if (expected != desired) {
            let_rival_go_first(key, desired);
        }
        const auto found = values_.find(key);
        if (found == values_.end() && !expected.empty()) {
            return expected;
        }
        if (found == values_.end() || found->second == expected) {
            put(key, desired);
        } else {
            lost += expected != desired ? 1 : 0;
        }
        return values_.at(key);
    }

    bool check(const std::vector<std::string>& wanted) override {
        const auto guard = enter("check", wanted.empty() ? "" : wanted.front());
        for (const std::string& key : wanted) {
            if (!values_.contains(key)) {
                return false;
            }
        }
        return true;
    }

    void wait(const std::vector<std::string>& wanted, Duration /*timeout*/) override {
        if (!check(wanted)) {
            throw Timeout("wait(): nothing stands under the key " + wanted.front());
        }
    }

    bool erase(const std::string& key) override {
        const auto guard = enter("erase", key);
        return values_.erase(key) > 0;
    }

    std::int64_t num_keys() override {
        const std::scoped_lock guard(lock_);
        return static_cast<std::int64_t>(values_.size());
    }

  private:
    std::unique_lock<std::mutex> enter(const std::string& call, const std::string& key) {
        before(call);
        std::unique_lock guard(lock_);
        calls.insert(call);
        keys.insert(key);
        return guard;
    }

    void let_rival_go_first(const std::string& key, const std::string& desired) {
        if (!rival) {
            return;
        }
        const auto found = values_.find(key);
        if (const auto value = rival(found == values_.end() ? "" : found->second, desired)) {
            rival = nullptr;
            put(key, *value);
        }
    }

    void put(const std::string& key, const std::string& value) {
        if (const auto found = values_.find(key);
            found == values_.end() || found->second != value) {
            values.push_back(value);
        }
        values_[key] = value;
    }

    std::mutex lock_;
    std::map<std::string, std::string> values_;
};

}  // namespace dist::harness
