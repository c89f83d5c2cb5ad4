#include "course/parallel/zero1.hpp"

#include <numeric>
#include <utility>

#include "course/parallel/flight.hpp"
#include "course/parallel/optimizer.hpp"

namespace dist::trainer {

ShardedOptimizer::ShardedOptimizer(
    const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
)
    : ShardedState(options, std::move(model), comm, "zero1"),
      zero_(std::make_unique<Zero1>(parameters(), optimizer_options(options), comm)) {
    std::vector<std::size_t> all(parameters().size());
    std::iota(all.begin(), all.end(), 0);
    set_rows({all});
}

void ShardedOptimizer::zero_gradients() {
    zero_->zero_grad();
}

void ShardedOptimizer::exchange_gradients() {}

void ShardedOptimizer::step(double rate) {
    zero_->optimizer().set_rate(rate);
    const Noted noted(comm(), {.name = "zero1_step", .count = elements()});
    zero_->step();
}

}  // namespace dist::trainer
