// Kinds of stores, calls of a store, threads that make them, and how a call ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/runtime/store.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/this_process.hpp"

namespace dist::harness {

using namespace std::chrono_literals;

/// Opens one store. Each call gives a handle for one thread, while other threads use theirs: the same object, or
/// another one that leads to the same keys.
using OpenStore = std::function<std::shared_ptr<Store>()>;

/// What is held to the cases.
struct StoreKind {
    std::string name;  // as a failure tells it: "a store of two objects"
    /// Makes an empty store, whose get() waits for `timeout`.
    std::function<OpenStore(Store::Duration timeout)> make;
    bool gets_in_two_steps = false;  // between which the key may be erased: then get() returns ""
};

/// What store_promises.hpp is tried on: the test that includes it says what that is.
const std::vector<StoreKind>& stores_to_try();

/// How long calls wait where a test does not wait for that: longer than becomes_true().
constexpr Store::Duration kPatient = 10s;

/// Who has not returned now never will, or is wrong to.
constexpr Store::Duration kWhile = 30ms;

/// Each call of a store, of the key "key", whose value is 1.
struct StoreCall {
    std::string name;
    bool changes;
    std::function<void(Store&)> make;
};

inline std::vector<StoreCall> store_calls() {
    return {
        {"get", false, [](Store& store) { store.get("key"); }},
        {"add", true, [](Store& store) { store.add("key", 1); }},
        {"set", true, [](Store& store) { store.set("key", "2"); }},
        {"compare_set", true, [](Store& store) { store.compare_set("key", "1", "2"); }},
        {"check", false, [](Store& store) { store.check({"key"}); }},
        {"wait", false, [](Store& store) { store.wait({"key"}, kPatient); }},
        {"erase", true, [](Store& store) { store.erase("key"); }},
        {"num_keys", false, [](Store& store) { store.num_keys(); }}};
}

/// Bytes as a report can tell them: "a\x00b", and long ones by their length.
inline std::string shown(const std::string& bytes) {
    constexpr std::size_t kLong = 40;
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes.substr(0, kLong)) {
        const auto code = static_cast<unsigned char>(byte);
        if (code >= ' ' && code < 127) {
            text += byte;
        } else {
            text += std::string("\\x") + kDigits[code / 16] + kDigits[code % 16];
        }
    }
    return '"' + text + '"' +
           (bytes.size() > kLong ? "... of " + std::to_string(bytes.size()) + " bytes" : "");
}

inline Comparison same_bytes(const std::string& got, const std::string& expected) {
    const auto at = std::ranges::mismatch(got, expected).in1 - got.begin();
    return {
        got == expected, "expected " + shown(expected) + ", got " + shown(got) +
                             ": they differ from byte " + std::to_string(at) + " on"};
}

inline constexpr const char* kTimedOut = "dist::Timeout";

/// How a call ended.
struct CallEnd {
    std::string how;   // kReturned, kTimedOut, kError, or another exception
    std::string text;  // what it returned, or the text of what it threw
};

inline CallEnd end_of(const std::function<std::string()>& call) {
    try {
        return {kReturned, call()};
    } catch (const Timeout& timeout) {
        return {kTimedOut, timeout.what()};
    } catch (const Error& error) {
        return {kError, error.what()};
    } catch (const NotImplemented&) {
        throw;
    } catch (const std::exception& other) {
        return {std::string("an exception that is no dist::Error: ") + other.what(), other.what()};
    }
}

/// A call in a thread of its own.
class Caller {
  public:
    /// call  holds all that it uses: if it never returns, it is left behind.
    explicit Caller(std::function<std::string()> call)
        : id_(std::make_shared<std::atomic<pid_t>>(0)) {
        std::packaged_task<CallEnd()> task([id = id_, call = std::move(call)] {
            *id = gettid();
            return end_of(call);
        });
        end_ = task.get_future();
        thread_ = std::thread(std::move(task));
    }
    ~Caller() {
        if (thread_.joinable()) {
            has_returned() ? thread_.join() : thread_.detach();
        }
    }
    Caller(Caller&&) = default;
    Caller& operator=(Caller&&) = delete;
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    [[nodiscard]] bool has_returned() const {
        return !end_.valid() || end_.wait_for(0s) == std::future_status::ready;
    }

    /// Waits until it sleeps in its call, or has returned from it.
    bool waits() {
        return becomes_true([this] { return status("State") == "S" || has_returned(); });
    }

    /// How often it has fallen asleep.
    [[nodiscard]] int times_asleep() const {
        return std::stoi("0" + status("voluntary_ctxt_switches"));
    }

    /// How the call ended. Asked once.
    CallEnd end() {
        return becomes_true([this] { return has_returned(); }) ? end_.get()
                                                               : CallEnd{"it does not return", ""};
    }

  private:
    [[nodiscard]] std::string status(const std::string& field) const {
        return thread_status(std::to_string(*id_), field);
    }

    std::shared_ptr<std::atomic<pid_t>> id_;
    std::future<CallEnd> end_;
    std::thread thread_;
};

/// store->get(key), with a handle of its own.
inline Caller calls_get(const OpenStore& open, const std::string& key) {
    return Caller([store = open(), key] { return store->get(key); });
}

/// store->wait(keys, timeout), with a handle of its own.
inline Caller calls_wait(
    const OpenStore& open, const std::vector<std::string>& keys, Store::Duration timeout = kPatient
) {
    return Caller([store = open(), keys, timeout] {
        store->wait(keys, timeout);
        return "";
    });
}

/// The value under a key that has one, and "no value" where there is none: asks without waiting.
inline std::string value_of(Store& store, const std::string& key) {
    return store.check({key}) ? shown(store.get(key)) : "no value";
}

}  // namespace dist::harness
