// Threads that go on one at a time, on clocks of a time that is nobody's: an hour of waiting costs
// no time, and a seed says who is next wherever several could go on.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/harness/checking_thread.hpp"

namespace dist::harness {

/// One thread goes on until it passes, sleeps or ends; then one that is ready, drawn by the seed.
/// Where all sleep, time goes on to when the first of them wakes.
class VirtualTime {
  public:
    using Duration = Clock::Duration;
    static constexpr std::int64_t kSteps = 20'000;            // of all threads; and looks in a step
    static constexpr Duration kEnd = std::chrono::hours(24);  // of this time

    /// Says which of the threads that are ready goes on: 0, 1, ...; for when not a seed but a test
    /// draws it.
    using Choose = std::function<std::size_t(std::size_t ready)>;

    /// Goes through the code under test, and ends its thread: it went on for too long.
    struct Endless : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    explicit VirtualTime(std::uint64_t seed)
        : VirtualTime([seed, step = std::uint64_t{0}](std::size_t ready) mutable {
              return seeded_bits(seed, ++step) % ready;
          }) {}
    explicit VirtualTime(Choose choose) : choose_(std::move(choose)) {}

    /// Runs each of these in a thread of its own. Returns how each ended: "", or the text of what
    /// it threw.
    std::vector<std::string> run(const std::vector<std::function<void()>>& plots) {
        std::vector<std::string> ends(plots.size());
        wakes_.assign(plots.size(), now_);
        turns_ = std::vector<std::condition_variable>(plots.size());
        next();
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < plots.size(); ++i) {
            threads.emplace_back([this, i, &plots, &ends] {
                try {
                    wait_for_turn(i);
                    plots[i]();
                } catch (const NotImplemented&) {
                    not_started_ = std::current_exception();
                } catch (const std::exception& error) {
                    ends[i] = error.what();
                }
                const std::scoped_lock guard(lock_);
                wakes_[i].reset();
                next();
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        this_thread_checks();
        if (not_started_) {
            std::rethrow_exception(not_started_);
        }
        return ends;
    }

    /// Another thread may go on.
    void pass() { sleep(Duration(0)); }

    /// The thread whose turn it is goes on when so much time has passed.
    void sleep(Duration duration) {
        const std::size_t me = running_;
        {
            const std::scoped_lock guard(lock_);
            wakes_[me] = now_ + duration;
            next();
        }
        wait_for_turn(me);
    }

    [[nodiscard]] Duration now() const { return now_; }

    /// The time, for code under test that may look at it until it is another.
    Duration look() {
        if (++looks_ > kSteps) {
            throw Endless("it looks again and again, and no time passes");
        }
        return now_;
    }

  private:
    void wait_for_turn(std::size_t me) {
        std::unique_lock guard(lock_);
        turns_[me].wait(guard, [&] { return running_ == me; });
        this_thread_checks();
        if (steps_ > kSteps && endless_.empty()) {
            endless_ = now_ == halfway_ ? "it looks again and again, and no time passes"
                                        : "it looks again and again, for " +
                                              std::to_string(now_.count()) + " ms";
        }
        if (now_ > kEnd && endless_.empty()) {
            endless_ = "it still waits after 24 hours of the test's time";
        }
        if (!endless_.empty()) {
            throw Endless(endless_);
        }
    }

    void next() {
        if (++steps_ == kSteps / 2) {
            halfway_ = now_;
        }
        looks_ = 0;
        std::optional<Duration> first;
        for (const auto& wake : wakes_) {
            if (wake && (!first || *wake < *first)) {
                first = wake;
            }
        }
        if (!first) {
            return;
        }
        now_ = std::max(now_, *first);
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < wakes_.size(); ++i) {
            if (wakes_[i] && *wakes_[i] <= now_) {
                ready.push_back(i);
            }
        }
        running_ = ready[choose_(ready.size())];
        turns_[running_].notify_one();
    }

    Choose choose_;
    std::mutex lock_;
    std::vector<std::condition_variable> turns_;  // of each thread
    std::vector<std::optional<Duration>> wakes_;  // of each thread; none once it has ended
    std::size_t running_ = 0;
    std::exception_ptr not_started_;
    std::int64_t steps_ = 0;
    std::int64_t looks_ = 0;  // in this step
    Duration now_{0};
    Duration halfway_{0};  // after half of the steps
    std::string endless_;  // why all threads have to end
};

/// The clock of one machine in such a time: it says more than others do, or less, by `skew`.
class VirtualClock : public Clock {
  public:
    explicit VirtualClock(VirtualTime& time, Duration skew = Duration(0))
        : time_(time), skew_(skew) {}

    Duration now() override { return time_.look() + skew_; }

    void sleep(Duration duration) override {
        sleeps.push_back(duration);
        time_.sleep(duration);
    }

    std::vector<Duration> sleeps;  // all there were

  private:
    VirtualTime& time_;
    Duration skew_;
};

}  // namespace dist::harness
