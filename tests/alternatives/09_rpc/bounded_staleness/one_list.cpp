// All that waits stands in one list, each with the clock that it waits for; the clocks are one
// array, and who is gone is at no clock. A float is added by comparing and exchanging.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

#include "exercises/09_rpc/bounded_staleness.hpp"

namespace dist {
namespace {

constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct StaleTable::State {
    struct Waiting {
        int worker;
        std::int64_t clock;
        std::vector<float> gradient;  // or a reader
        Reader reader;
    };

    void look();

    std::span<float> row;
    std::int64_t staleness;
    Step step;
    std::vector<std::int64_t> clocks;
    std::list<Waiting> waiting = {};
};

void StaleTable::State::look() {
    const std::int64_t slowest = std::ranges::min(clocks);
    std::list<Waiting> ready;
    for (auto one = waiting.begin(); one != waiting.end();) {
        const auto next = std::next(one);
        if (one->clock - slowest <= staleness) {
            ready.splice(ready.end(), waiting, one);
        }
        one = next;
    }
    ready.sort([](const Waiting& a, const Waiting& b) { return a.worker < b.worker; });
    std::vector<float> mean(row.size());
    bool is_step = false;
    for (const Waiting& one : ready) {
        for (std::size_t i = 0; !one.reader && i < mean.size(); ++i) {
            mean[i] += one.gradient[i];
        }
        is_step = is_step || !one.reader;
    }
    for (float& element : mean) {
        element /= static_cast<float>(clocks.size());
    }
    if (is_step) {
        step(row, mean);
    }
    for (const Waiting& one : ready) {
        if (one.reader) {
            one.reader(row, nullptr);
        }
    }
}

StaleTable::StaleTable(std::span<float> row, int workers, std::int64_t staleness, Step step) {
    expects(workers >= 1 && staleness >= 0, "StaleTable: one worker and a staleness of 0 at least");
    state_ = std::make_unique<State>(State{
        .row = row,
        .staleness = staleness,
        .step = std::move(step),
        .clocks = std::vector<std::int64_t>(static_cast<std::size_t>(workers))});
}

StaleTable::~StaleTable() = default;

void StaleTable::push(int worker, std::int64_t step, std::span<const float> gradient) {
    State& self = *state_;
    expects(0 <= worker && worker < std::ssize(self.clocks), "push: there is no such worker");
    std::int64_t& clock = self.clocks[static_cast<std::size_t>(worker)];
    expects(
        clock == step && step - std::ranges::min(self.clocks) <= self.staleness &&
            gradient.size() == self.row.size(),
        "push: not this worker's step, or too early, or not as long as the row"
    );
    ++clock;
    self.waiting.push_back({worker, clock, {gradient.begin(), gradient.end()}, nullptr});
    self.look();
}

void StaleTable::pull(int worker, std::int64_t step, Reader reader) {
    State& self = *state_;
    expects(0 <= worker && worker < std::ssize(self.clocks), "pull: there is no such worker");
    expects(self.clocks[static_cast<std::size_t>(worker)] == step, "pull: not this worker's step");
    self.waiting.push_back({worker, step, {}, std::move(reader)});
    self.look();
}

void StaleTable::leave(int worker, const std::string& /*reason*/) {
    state_->clocks.at(static_cast<std::size_t>(worker)) = kGone;
    state_->look();
}

void hogwild_add(std::span<float> shared, std::span<const float> update) {
    expects(update.size() == shared.size(), "hogwild_add: the update must be as long as the row");
    for (std::size_t i = 0; i < update.size(); ++i) {
        if (update[i] == 0) {
            continue;
        }
        const std::atomic_ref element(shared[i]);
        float old = element.load(std::memory_order_relaxed);
        while (!element.compare_exchange_weak(old, old + update[i], std::memory_order_relaxed)) {
        }
    }
}

}  // namespace dist
