// Workers of one table, in a time that is the test's, beside a plain model of what the table must
// do. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exercises/09_rpc/bounded_staleness.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = std::chrono::milliseconds;
using Row = std::vector<float>;

inline std::string text_of(const Row& row) {
    std::string text;
    for (const float element : row) {
        text += (text.empty() ? "" : ", ") + std::to_string(static_cast<int>(element));
    }
    return text;
}

/// Element w of the row counts the gradients of worker w that are in it.
class StaleRun {
  public:
    struct Worker {
        std::int64_t clock = 0;
        bool is_there = true;
        bool waits = false;
        std::int64_t most_ahead = 0;  // of the slowest, when it was given a row
        std::vector<Ms> pushed = {};  // when
        std::int64_t leaves_at = -1;  // the step that it does not begin; -1: behind the last
        std::optional<Ms> dies = {};
    };

    StaleRun(int p, std::int64_t staleness)
        : workers(static_cast<std::size_t>(p)),
          staleness_(staleness),
          row_(workers.size()),
          table_(row_, p, staleness, [this](std::span<float> row, std::span<const float> mean) {
              ++steps_taken_;
              std::ranges::transform(row, mean, row.begin(), std::plus());
          }) {}

    std::int64_t steps = 6;
    std::vector<Worker> workers;
    std::function<Ms(int worker, std::int64_t step)> computes = [](int, std::int64_t) {
        return 10ms;
    };

    Comparison play() {
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            at(0ms, [this, worker] { pull(worker); });
            if (of(worker).dies) {
                at(*of(worker).dies, [this, worker] { leave(worker, "it has died"); });
            }
        }
        while (!events_.empty() && wrong_.empty()) {
            const auto event = events_.extract(events_.begin());
            now_ = event.key();
            event.mapped()();
            look();
        }
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            if (of(worker).is_there) {
                fail(worker, "it has not come to its end");
            }
        }
        return {wrong_.empty(), wrong_};
    }

    /// How many gradients it had pushed then.
    [[nodiscard]] long pushed_by(std::size_t worker, Ms when) const {
        return std::ranges::count_if(workers[worker].pushed, [&](Ms one) { return one <= when; });
    }

    [[nodiscard]] Ms end() const { return end_; }

  private:
    Worker& of(int worker) { return workers[static_cast<std::size_t>(worker)]; }

    void at(Ms when, std::function<void()> event) { events_.emplace(when, std::move(event)); }

    void fail(int worker, const std::string& what) {
        if (wrong_.empty()) {
            wrong_ = "at " + std::to_string(now_.count()) + " ms, staleness " +
                     std::to_string(staleness_) + ", clocks " + clocks() + ": worker " +
                     std::to_string(worker) + ": " + what;
        }
    }

    [[nodiscard]] std::string clocks() const {
        std::string text;
        for (const Worker& one : workers) {
            text += (text.empty() ? "" : " ") + std::to_string(one.clock) +
                    (one.is_there ? "" : " (gone)");
        }
        return text;
    }

    [[nodiscard]] std::int64_t slowest() const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const Worker& one : workers) {
            least = one.is_there ? std::min(least, one.clock) : least;
        }
        return least;
    }

    [[nodiscard]] bool may_go_on(const Worker& one) const {
        return slowest() >= one.clock - staleness_;
    }

    [[nodiscard]] Row expected() const {
        Row row;
        for (const Worker& one : workers) {
            row.push_back(static_cast<float>(one.clock - (may_go_on(one) ? 0 : 1)));
        }
        return row;
    }

    void look_at(int worker, const Row& row, const std::string& what) {
        if (row != expected()) {
            fail(
                worker, what + " counts gradients " + text_of(row) + ", and it must be " +
                            text_of(expected())
            );
        }
    }

    // Nobody waits who may go on, and the row is right.
    void look() {
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            if (of(worker).is_there && of(worker).waits && may_go_on(of(worker))) {
                fail(worker, "it waits, and may go on");
            }
        }
        look_at(0, row_, "the table's row");
        if (steps_taken_ != steps_expected_) {
            fail(
                0, "gradients that begin to count at the same time are one step. There were " +
                       std::to_string(steps_taken_) + " steps, and it must be " +
                       std::to_string(steps_expected_)
            );
        }
    }

    // After each call that changes a clock.
    void count_step() {
        steps_expected_ += expected() != before_ ? 1 : 0;
        before_ = expected();
    }

    void pull(int worker) {
        Worker& self = of(worker);
        if (self.clock == (self.leaves_at < 0 ? steps : self.leaves_at)) {
            end_ = now_;
            leave(worker, "it has left");
            return;
        }
        self.waits = true;
        const auto reader = [this,
                             worker](std::span<const float> row, const std::exception_ptr& error) {
            read(worker, {row.begin(), row.end()}, error != nullptr);
        };
        table_.pull(worker, self.clock, reader);
    }

    void read(int worker, const Row& row, bool is_error) {
        Worker& self = of(worker);
        if (!self.is_there) {
            return;
        }
        if (!self.waits || is_error) {
            fail(worker, is_error ? "it is given an error" : "it is given a second row");
        }
        self.waits = false;
        if (!may_go_on(self)) {
            fail(
                worker,
                "it is given a row, and is " + std::to_string(self.clock - slowest()) + " ahead"
            );
        }
        self.most_ahead = std::max(self.most_ahead, self.clock - slowest());
        look_at(worker, row, "its row");
        at(now_ + computes(worker, self.clock), [this, worker] { push(worker); });
    }

    void push(int worker) {
        Worker& self = of(worker);
        if (!self.is_there) {
            return;
        }
        self.pushed.push_back(now_);
        ++self.clock;
        Row gradient(workers.size());  // p: divided by p, it counts as one
        gradient[static_cast<std::size_t>(worker)] = static_cast<float>(workers.size());
        table_.push(worker, self.clock - 1, gradient);
        count_step();
        pull(worker);
    }

    void leave(int worker, const std::string& reason) {
        if (of(worker).is_there) {
            of(worker).is_there = false;
            table_.leave(worker, reason);
            count_step();
        }
    }

    std::int64_t staleness_;
    Row row_;
    StaleTable table_;
    std::multimap<Ms, std::function<void()>> events_;
    Ms now_{0};
    Ms end_{0};
    Row before_ = Row(workers.size());
    int steps_taken_ = 0;
    int steps_expected_ = 0;
    std::string wrong_;
};

}  // namespace dist::harness
