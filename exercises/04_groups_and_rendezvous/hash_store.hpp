// Exercise 04: a store for the threads of one process, on which all later ones are modelled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/runtime/store.hpp"

namespace dist {

/// A Store in memory, for the threads of this process.
///
/// Whoever waits sleeps, and wakes when the last of its keys comes: it does not look again and again.
///
/// Cost    of get, set, add, compare_set, erase a few operations, however many keys there are.
/// Source  PyTorch, torch/csrc/distributed/c10d/HashStore.cpp.
class HashStore : public Store {
  public:
    /// An empty store.
    ///
    /// timeout  how long get() waits.
    explicit HashStore(Duration timeout = kTimeout);

    /// Nobody waits any more.
    ~HashStore() override;

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
