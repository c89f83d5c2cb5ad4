#include "course/parallel/zero2.hpp"

#include <utility>

#include "course/nn/bucket_limits.hpp"
#include "course/parallel/optimizer.hpp"

namespace dist::trainer {

ShardedGradients::ShardedGradients(
    const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
)
    : ShardedState(options, std::move(model), comm, "zero2"),
      zero_(std::make_unique<Zero2>(
          parameters(), nn::bucket_limits(options.bucket_cap_mb), optimizer_options(options), comm
      )) {
    set_rows(zero_->buckets());
}

void ShardedGradients::zero_gradients() {
    zero_->zero_grad();
}

void ShardedGradients::prepare_for_backward(const at::Tensor& /*loss*/) {
    const FlightCall call = {.name = "backward", .count = elements()};
    backward_.emplace(comm(), call, SourceLine::here());
}

void ShardedGradients::exchange_gradients() {
    backward_.reset();
}

void ShardedGradients::step(double rate) {
    zero_->optimizer().set_rate(rate);
    const Noted noted(comm(), {.name = "zero2_step", .count = elements()});
    zero_->step();
}

}  // namespace dist::trainer
