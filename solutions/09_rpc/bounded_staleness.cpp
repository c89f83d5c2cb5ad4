#include "exercises/09_rpc/bounded_staleness.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dist {
namespace {

struct Worker {
    std::int64_t clock = 0;
    bool is_there = true;
    std::optional<std::vector<float>> gradient = {};   // that waits: one at most
    std::vector<ParameterTable::Reader> readers = {};  // that wait
};

}  // namespace

struct StaleTable::State {
    [[nodiscard]] bool may_go_on(std::int64_t clock) const;
    Worker& worker_at(int worker, std::int64_t clock);
    void go_on();

    std::span<float> row;
    std::int64_t staleness;
    Step step;
    std::vector<Worker> workers;
};

bool StaleTable::State::may_go_on(std::int64_t clock) const {
    return std::ranges::all_of(workers, [&](const Worker& other) {
        return !other.is_there || other.clock >= clock - staleness;
    });
}

Worker& StaleTable::State::worker_at(int worker, std::int64_t clock) {
    const auto number = static_cast<std::size_t>(worker);
    expects(number < workers.size(), "StaleTable: there is no such worker");
    expects(workers[number].clock == clock, "StaleTable: the step must be the worker's clock");
    return workers[number];
}

// All that need not wait any more: first gradients, then the readers, who see them.
void StaleTable::State::go_on() {
    std::vector<float> sum(row.size());
    bool is_step = false;
    for (Worker& worker : workers) {
        if (worker.gradient && may_go_on(worker.clock)) {
            std::ranges::transform(sum, *worker.gradient, sum.begin(), std::plus());
            worker.gradient.reset();
            is_step = true;
        }
    }
    if (is_step) {
        for (float& element : sum) {
            element /= static_cast<float>(workers.size());
        }
        step(row, sum);
    }
    for (Worker& worker : workers) {
        if (may_go_on(worker.clock)) {
            for (const Reader& reader : std::exchange(worker.readers, {})) {
                reader(row, nullptr);
            }
        }
    }
}

StaleTable::StaleTable(std::span<float> row, int workers, std::int64_t staleness, Step step) {
    expects(workers >= 1, "StaleTable: there must be a worker");
    expects(staleness >= 0, "StaleTable: the staleness must be 0 or more");
    state_ = std::make_unique<State>(State{
        row, staleness, std::move(step), std::vector<Worker>(static_cast<std::size_t>(workers))});
}

StaleTable::~StaleTable() = default;

void StaleTable::push(int worker, std::int64_t step, std::span<const float> gradient) {
    State& self = *state_;
    Worker& mine = self.worker_at(worker, step);
    expects(self.may_go_on(step), "push: this worker is too far ahead");
    expects(gradient.size() == self.row.size(), "push: the gradient must be as long as the row");
    mine.gradient.emplace(gradient.begin(), gradient.end());
    ++mine.clock;
    self.go_on();
}

void StaleTable::pull(int worker, std::int64_t step, Reader reader) {
    state_->worker_at(worker, step).readers.push_back(std::move(reader));
    state_->go_on();
}

void StaleTable::leave(int worker, const std::string& /*reason*/) {
    state_->workers.at(static_cast<std::size_t>(worker)).is_there = false;
    state_->go_on();
}

void hogwild_add(std::span<float> shared, std::span<const float> update) {
    expects(update.size() == shared.size(), "hogwild_add: the update must be as long as the row");
    for (std::size_t i = 0; i < update.size(); ++i) {
        if (update[i] != 0) {
            std::atomic_ref(shared[i]).fetch_add(update[i], std::memory_order_relaxed);
        }
    }
}

}  // namespace dist
