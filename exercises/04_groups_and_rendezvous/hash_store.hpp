// Exercise 04: a store for the threads of one process, on which all later ones are modelled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "course/runtime/store.hpp"

namespace dist {

/// What add() of every store computes: the number that `value` says in decimal, plus `amount`.
///
/// Errors  Error, which names the key, where Store::add has one.
std::int64_t sum_at(const std::string& key, const std::string& value, std::int64_t amount);

/// A Store in memory, for the threads of this process.
///
/// Whoever waits sleeps until another call brings a value, and then looks again.
///
/// Cost    get, set, add, compare_set, check and erase take a few operations a key, however many keys there are.
/// Source  PyTorch, torch/csrc/distributed/c10d/HashStore.cpp.
class HashStore : public Store {
  public:
    /// An empty store.
    ///
    /// timeout  how long get() waits.
    explicit HashStore(Duration timeout = kTimeout);

    ~HashStore() override;
    HashStore(const HashStore&) = delete;
    HashStore& operator=(const HashStore&) = delete;

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override;
    bool check(const std::vector<std::string>& keys) override;
    void wait(const std::vector<std::string>& keys, Duration timeout) override;
    bool erase(const std::string& key) override;
    std::int64_t num_keys() override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
