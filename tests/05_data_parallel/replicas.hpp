// What the replicas of a data_parallel call do, noted from inside by the model that they run: which have
// begun, and of which the thread has ended. A replica is known by the number in its first row.
#pragma once

#include <ATen/core/Tensor.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// Rows 0 to n-1, each of them its own number.
inline at::Tensor numbered(int n) {
    std::vector<float> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return filled({n}, numbers);
}

/// The number of the replica that was given these rows of numbered(); -1 for none.
inline int number_of(const at::Tensor& rows) {
    return rows.numel() == 0 ? -1 : static_cast<int>(*rows.data_ptr<float>());
}

class Replicas {
  public:
    Replicas() : state_(std::make_shared<State>()) {}
    Replicas(const Replicas&) = delete;
    Replicas& operator=(const Replicas&) = delete;
    /// What a model refers to is to outlive threads that a wrong answer left behind.
    ~Replicas() {
        release();
        wait([](const State& state) { return state.ended.size() == state.begun.size(); });
    }

    /// Replica `number` runs in this thread, and has ended when the thread has. In the caller's own
    /// thread, which does not end, it counts as ended at once.
    void begin(int number) {
        state_->add(&State::begun, number);
        const std::shared_ptr<void> end(nullptr, [state = state_, number](void*) {
            state->add(&State::ended, number);
        });
        thread_local std::vector<std::shared_ptr<void>> at_end_of_thread;
        if (std::this_thread::get_id() != state_->caller) {
            at_end_of_thread.push_back(end);
        }
    }

    /// How many have begun: n, unless it waited in vain for some of them.
    int wait_for_all(int n) {
        wait([n](const State& state) { return std::cmp_equal(state.begun.size(), n); });
        const std::scoped_lock guard(state_->mutex);
        return static_cast<int>(state_->begun.size());
    }

    void wait_for_end_of(int number) {
        wait([number](const State& state) { return state.ended.contains(number); });
    }

    /// Goes on working until release(), or for 0.2 s.
    void work() {
        std::unique_lock lock(state_->mutex);
        state_->changed.wait_for(lock, std::chrono::milliseconds(200), [this] {
            return state_->released;
        });
    }
    void release() {
        const std::scoped_lock guard(state_->mutex);
        state_->released = true;
        state_->changed.notify_all();
    }

    [[nodiscard]] int running() const {
        const std::scoped_lock guard(state_->mutex);
        return static_cast<int>(state_->begun.size() - state_->ended.size());
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::set<int> begun;
        std::set<int> ended;
        bool released = false;
        std::thread::id caller = std::this_thread::get_id();

        void add(std::set<int> State::*set, int number) {
            const std::scoped_lock guard(mutex);
            (this->*set).insert(number);
            changed.notify_all();
        }
    };

    // Nobody waits for ever: without the others a replica goes on after 3 s, and once that has happened
    // in this process, after 0.1 s.
    void wait(const std::function<bool(const State&)>& condition) {
        static std::atomic<bool> in_vain = false;
        const auto patience = std::chrono::milliseconds(in_vain ? 100 : 3000);
        std::unique_lock lock(state_->mutex);
        if (!state_->changed.wait_for(lock, patience, [&] { return condition(*state_); })) {
            in_vain = true;
        }
    }

    std::shared_ptr<State> state_;  // threads that are left behind have it as well
};

}  // namespace dist::harness
