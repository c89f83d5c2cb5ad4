// What the replicas of a data_parallel call do, noted from inside by the model that they run: which have
// begun, of which the thread has ended, and what they throw. A replica is known by the number in its first row.
#pragma once

#include <ATen/core/Tensor.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exercises/05_data_parallel/data_parallel.hpp"
#include "tests/harness/harness.hpp"
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

/// What n replicas make of numbered(n) that do this with their number, and then give it back.
inline at::Tensor by_replicas(int n, const std::function<void(int number)>& work) {
    static std::deque<ModelFunction> kept;  // for threads that a wrong answer leaves behind
    const ModelFunction& model =
        kept.emplace_back([work](std::span<const at::Tensor>, const at::Tensor& rows) {
            work(number_of(rows));
            return rows.clone();
        });
    return data_parallel(model, {}, numbered(n), n);
}

/// What a replica throws.
struct ReplicaFailure : std::runtime_error {
    explicit ReplicaFailure(int number)
        : std::runtime_error("replica " + std::to_string(number) + " fails"), replica(number) {}
    int replica;
};

/// Whether n replicas that do this make data_parallel throw the ReplicaFailure of replica `expected`.
/// `at_once` is called as soon as it is out.
inline Comparison throws_that_of(
    int expected,
    int n,
    const std::function<void(int number)>& work,
    const std::function<void()>& at_once = [] {}
) {
    const CrashMeans crash(
        "is an exception caught in the thread that throws it, and every std::thread joined? "
        "Otherwise std::terminate ends the program"
    );
    const std::string one = "expected what replica " + std::to_string(expected) + " threw, ";
    try {
        by_replicas(n, work);
    } catch (const ReplicaFailure& failure) {
        at_once();
        const std::string other = "got what replica " + std::to_string(failure.replica) + " threw";
        return {failure.replica == expected, one + other};
    } catch (const NotImplemented&) {
        throw;
    } catch (const std::exception& error) {
        return {false, one + "and as that type; got another exception: " + error.what()};
    }
    return {false, one + "but data_parallel returned as if all were well"};
}

/// "0-2, 3-4, 5-6" for rows that begin there and are so many.
inline std::string text_of(const std::multimap<int, std::int64_t>& parts) {
    std::string text;
    for (const auto& [first, size] : parts) {
        text += text.empty() ? "" : ", ";
        text += size == 0 ? "none" : std::to_string(first) + "-" + std::to_string(first + size - 1);
    }
    return text;
}

}  // namespace dist::harness
