// A store: keys and values that processes meet at, before they can send each other anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// A key that was waited for did not come in time. The text names it.
class Timeout : public Error {
  public:
    using Error::Error;
};

/// Keys, each with a value: what one process sets, all others read. Keys and values are bytes of any kind,
/// and may be empty. Each call happens at one moment: no other call sees half of it.
///
/// Several threads, and where the store says so several processes, may call at the same time.
/// A call that waits keeps no other one waiting.
///
/// Source  PyTorch, torch/csrc/distributed/c10d/Store.hpp; the words are its own, but for erase, its deleteKey.
class Store {
  public:
    using Duration = std::chrono::milliseconds;
    static constexpr Duration kTimeout = std::chrono::seconds(300);  // PyTorch's

    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    /// Puts `value` under `key`, in the place of what was there.
    virtual void set(const std::string& key, const std::string& value) = 0;

    /// The value under `key`. Waits until there is one.
    ///
    /// Errors  Timeout, which names the key, if there is none after the store's own timeout.
    virtual std::string get(const std::string& key) = 0;

    /// Adds to the number under `key`, which stands there as decimal text: digits, with "-" before them where it is
    /// negative. Where there is no value, adds to 0. Returns the sum, which stands there then.
    ///
    /// Errors  Error, which names the key, if the value is no such number, or number or sum do not fit into 64 bits. The
    ///         value stays as it was.
    virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

    /// Puts `desired` under `key` if `expected` stands there; if nothing does, only where `expected` is empty.
    /// Returns what stands there then; `expected` if nothing does.
    virtual std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) = 0;

    /// Whether all of these keys have a value, now. True of none.
    virtual bool check(const std::vector<std::string>& keys) = 0;

    /// Waits until all of these keys have a value at the same time: not at all with a timeout of 0 or less, for ever with
    /// Duration::max() (course/runtime/deadline.hpp).
    ///
    /// Errors  Timeout, which names those that have none, after `timeout`: not before, and soon after.
    virtual void wait(const std::vector<std::string>& keys, Duration timeout) = 0;

    /// Takes `key` and its value away. Returns whether there was one.
    virtual bool erase(const std::string& key) = 0;

    /// How many keys have a value.
    virtual std::int64_t num_keys() = 0;
};

}  // namespace dist
