// Weights and gradients in one tensor of two rows; gradients that lie in their place are only divided.
#include <ATen/ops/zeros.h>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist {

namespace {

std::int64_t padded(std::span<const at::Tensor> parameters, int p) {
    std::int64_t n = 0;
    for (const at::Tensor& parameter : parameters) {
        n += parameter.numel();
    }
    const std::int64_t rest = n % p;
    return rest == 0 ? n : n - rest + p;
}

void move_into(const at::Tensor& row, std::span<const at::Tensor> parameters) {
    std::int64_t end = 0;
    for (const at::Tensor& parameter : parameters) {
        const std::int64_t begin = std::exchange(end, end + parameter.numel());
        const at::Tensor part = row.slice(0, begin, end);
        part.copy_(parameter.detach().reshape({-1}));
        parameter.set_data(part.reshape(parameter.sizes()));
    }
}

}  // namespace

at::Tensor flatten_parameters(std::span<const at::Tensor> parameters, int p) {
    if (p < 1) {
        throw std::invalid_argument("p");
    }
    for (const at::Tensor& parameter : parameters) {
        if (parameter.dtype() != parameters.front().dtype()) {
            throw std::invalid_argument("two dtypes");
        }
    }
    const auto dtype = parameters.empty() ? at::kFloat : parameters.front().scalar_type();
    at::Tensor row = at::zeros({padded(parameters, p)}, dtype);
    move_into(row, parameters);
    return row;
}

std::vector<at::Tensor> views_of(const at::Tensor& row, std::span<const at::Tensor> tensors) {
    std::vector<at::Tensor> views;
    std::int64_t end = 0;
    for (const at::Tensor& tensor : tensors) {
        const std::int64_t begin = std::exchange(end, end + tensor.numel());
        views.push_back(row.slice(0, begin, end).reshape(tensor.sizes()));
    }
    return views;
}

at::Tensor shard_of(const at::Tensor& row, const Communicator& comm) {
    return row.view({comm.size(), row.size(0) / comm.size()}).select(0, comm.rank());
}

struct Zero1::State {
    std::vector<at::Tensor> parameters;
    const Communicator& comm;
    at::Tensor rows;
    nn::Optimizer stepper;

    at::Tensor shard(int which) const {
        const std::int64_t length = rows.size(1) / comm.size();
        return rows.select(0, which).slice(0, comm.rank() * length, (comm.rank() + 1) * length);
    }
    std::span<float> floats(int which) const {
        return {rows.select(0, which).data_ptr<float>(), static_cast<std::size_t>(rows.size(1))};
    }
};

Zero1::Zero1(
    std::vector<at::Tensor> parameters,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    for (const at::Tensor& a : parameters) {
        int times = 0;
        for (const at::Tensor& b : parameters) {
            times += a.unsafeGetTensorImpl() == b.unsafeGetTensorImpl() ? 1 : 0;
        }
        if (times > 1 || a.scalar_type() != at::kFloat || !a.is_leaf() || !a.requires_grad()) {
            throw std::invalid_argument("Zero1: a parameter cannot be trained");
        }
    }
    const at::Tensor rows = at::zeros({2, padded(parameters, comm.size())});
    move_into(rows.select(0, 0), parameters);
    state_ = std::make_unique<State>(State{
        std::move(parameters), comm, rows, nn::Optimizer(options, {})});
    state_->stepper = nn::Optimizer(options, {state_->shard(0)});
    zero_grad();
}

Zero1::~Zero1() = default;

void Zero1::zero_grad() {
    const at::Tensor row = state_->rows.select(0, 1);
    row.fill_(0);
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : state_->parameters) {
        parameter.mutable_grad() =
            row.slice(0, begin, begin + parameter.numel()).reshape(parameter.sizes());
        begin += parameter.numel();
    }
}

void Zero1::step() {
    const at::Tensor row = state_->rows.select(0, 1);
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : state_->parameters) {
        const at::Tensor place = row.slice(0, begin, begin + parameter.numel());
        begin += parameter.numel();
        if (!parameter.grad().defined()) {
            place.fill_(0);
        } else if (parameter.grad().data_ptr() != place.data_ptr()) {
            place.copy_(parameter.grad().reshape({-1}));
        }
        parameter.mutable_grad() = place.reshape(parameter.sizes());
    }
    row.mul_(1.0 / state_->comm.size());
    ring_reduce_scatter(state_->floats(1), ReduceOp::sum, state_->comm);
    state_->stepper.parameters()[0].mutable_grad() = state_->shard(1);
    state_->stepper.step();
    ring_all_gather(state_->floats(0), state_->comm);
}

nn::Optimizer& Zero1::optimizer() {
    return state_->stepper;
}

}  // namespace dist
