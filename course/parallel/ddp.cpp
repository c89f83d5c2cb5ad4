#include "course/parallel/ddp.hpp"

#include <ATen/ops/empty.h>
#include <numeric>
#include <span>
#include <utility>

#include "course/nn/bucket_limits.hpp"
#include "course/nn/memory.hpp"
#include "course/parallel/flight.hpp"
#include "course/parallel/nccl_hook.hpp"
#include "course/runtime/clock.hpp"

namespace dist::trainer {

namespace {

constexpr const char* kOrder = "ddp.order";

}  // namespace

Ddp::Ddp(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
)
    : Replicas(options, std::move(model), comm, "the Reducer of autograd_hooks"),
      options_(options),
      trace_(trace),
      buckets_comm_(comm.dup()) {
    std::vector<std::size_t> backwards(parameters().size());
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    make_reducer(backwards);
}

void Ddp::prepare_for_backward(const at::Tensor& /*loss*/) {
    const nn::MemoryScope scope(nn::MemoryKind::gradients);
    reducer_->prepare_for_backward();  // the course's models use all their parameters in every step
}

void Ddp::exchange_gradients() {
    reducer_->finalize_backward();
}

at::Tensor Ddp::order() const {
    reducer_->prepare_for_backward();  // after the first step, makes the plan of all others
    const at::Tensor order = at::empty({static_cast<std::int64_t>(numbers_.size())}, at::kLong);
    auto* next = order.data_ptr<std::int64_t>();
    for (const Bucket& bucket : reducer_->buckets()) {
        for (const std::size_t i : bucket) {
            *next++ = static_cast<std::int64_t>(numbers_[i]);
        }
    }
    return order;
}

StateDict Ddp::state_dict() const {
    StateDict state = Replicas::state_dict();
    state[kOrder] = order();
    return state;
}

std::vector<StatePart> Ddp::parts() const {
    std::vector<StatePart> parts = Replicas::parts();
    parts.push_back(equal_part(kOrder, order(), comm()));
    return parts;
}

void Ddp::load_state_dict(const StateDict& state) {
    Replicas::load_state_dict(state);
    const auto saved = state.find(kOrder);
    if (saved != state.end()) {  // it is not there if the run was begun in another way
        const std::span order(
            saved->second.data_ptr<std::int64_t>(), static_cast<std::size_t>(saved->second.numel())
        );
        make_reducer({order.begin(), order.end()});
    }
}

CommHook Ddp::make_hook() {
    if (options_.device == "cuda") {
        return nccl_hook(comm());
    }
    CommHook traced = [&trace = trace_, &comm = buckets_comm_,
                       hook = all_reduce_hook(buckets_comm_)](const at::Tensor& flat) {
        const Noted noted(comm, {.name = "all_reduce", .count = flat.numel(), .op = "mean"});
        const double begin_s = now_s();
        std::future<void> done = hook(flat);
        done.wait();
        const std::string bucket = "bucket of " + std::to_string(flat.numel()) + " floats";
        trace.add(Lane::communication, all_reduce_name(bucket), begin_s, now_s());
        return done;
    };
    return overlapped_hook(thread_, std::move(traced));
}

void Ddp::make_reducer(const std::vector<std::size_t>& order) {
    numbers_.assign(order.rbegin(), order.rend());  // it plans backwards
    std::vector<at::Tensor> ordered;
    for (const std::size_t i : numbers_) {
        ordered.push_back(parameters()[i]);
    }
    const nn::MemoryScope scope(nn::MemoryKind::gradients);
    reducer_.reset();
    reducer_ = std::make_unique<Reducer>(
        std::move(ordered), nn::bucket_limits(options_.bucket_cap_mb), make_hook(), comm()
    );
}

}  // namespace dist::trainer
