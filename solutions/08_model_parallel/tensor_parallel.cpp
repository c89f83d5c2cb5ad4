#include "exercises/08_model_parallel/tensor_parallel.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <future>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// This rank's part of `whole` along a dimension, as a leaf of its own: a view would keep the whole.
at::Tensor part_of(const at::Tensor& whole, std::int64_t dim, const Communicator& comm) {
    const std::int64_t length = whole.size(dim) / comm.size();
    const at::Tensor part = whole.detach().narrow(dim, comm.rank() * length, length);
    return part.clone(at::MemoryFormat::Contiguous).requires_grad_();
}

at::Tensor in_rows(const at::Tensor& x) {
    return x.reshape({-1, x.size(-1)});
}

/// x W^T. Forward takes x, of which all ranks have the same; backward adds its gradient up.
struct ColumnProduct : torch::autograd::Function<ColumnProduct> {
    static at::Tensor forward(
        AutogradContext* ctx,
        const at::Tensor& x,
        const at::Tensor& weight,
        const Communicator& comm
    ) {
        ctx->save_for_backward({x, weight});
        ctx->saved_data["comm"] = reinterpret_cast<std::int64_t>(&comm);
        return at::linear(x, weight);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const variable_list saved = ctx->get_saved_variables();
        const at::Tensor& x = saved[0];
        const at::Tensor& weight = saved[1];
        const auto& comm = *reinterpret_cast<const Communicator*>(ctx->saved_data["comm"].toInt());
        const at::Tensor dy = in_rows(gradients[0]);
        at::Tensor dx;
        std::future<void> adding_up;
        if (ctx->needs_input_grad(0)) {
            dx = dy.mm(weight);
            adding_up = std::async(std::launch::async, [&dx, &comm] {
                ring_all_reduce(nn::floats(dx), ReduceOp::sum, comm);
            });
        }
        at::Tensor dw = dy.t().mm(in_rows(x));
        if (adding_up.valid()) {
            adding_up.get();
            dx = dx.view(x.sizes());
        }
        return {dx, dw, {}};
    }
};

/// Forward adds up over the ranks; in backward each rank has the gradient of the sum already.
struct AddedUp : torch::autograd::Function<AddedUp> {
    static at::Tensor forward(
        AutogradContext* ctx, const at::Tensor& partial, const Communicator& comm
    ) {
        ring_all_reduce(nn::floats(partial), ReduceOp::sum, comm);
        ctx->mark_dirty({partial});
        return partial;
    }

    static variable_list backward(AutogradContext* /*ctx*/, const variable_list& gradients) {
        return {gradients[0], {}};
    }
};

void expect_columns(const at::Tensor& x, const at::Tensor& weight, const char* otherwise) {
    expects(x.dim() >= 1 && x.size(-1) == weight.size(1), otherwise);
}

}  // namespace

ColumnParallelLinear::ColumnParallelLinear(
    const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
)
    : comm_(comm) {
    expects(
        whole_weight.size(0) % comm.size() == 0,
        "ColumnParallelLinear: the number of ranks must divide that of output columns"
    );
    weight = part_of(whole_weight, 0, comm);
    if (whole_bias.defined()) {
        bias = part_of(whole_bias, 0, comm);
    }
}

at::Tensor ColumnParallelLinear::forward(const at::Tensor& x) const {
    expect_columns(x, weight, "ColumnParallelLinear: x must have as many columns as the weight");
    const at::Tensor y = ColumnProduct::apply(x, weight, comm_);
    return bias.defined() ? y.add(bias) : y;
}

RowParallelLinear::RowParallelLinear(
    const at::Tensor& whole_weight, const at::Tensor& whole_bias, const Communicator& comm
)
    : comm_(comm) {
    expects(
        whole_weight.size(1) % comm.size() == 0,
        "RowParallelLinear: the number of ranks must divide that of input columns"
    );
    weight = part_of(whole_weight, 1, comm);
    if (whole_bias.defined()) {
        bias = whole_bias.detach().clone().requires_grad_();
    }
}

at::Tensor RowParallelLinear::forward(const at::Tensor& x) const {
    expect_columns(
        x, weight, "RowParallelLinear: x must have as many columns as this rank's weight"
    );
    const at::Tensor y = AddedUp::apply(at::linear(x, weight).contiguous(), comm_);
    return bias.defined() ? y.add(bias) : y;
}

at::Tensor tensor_parallel_mlp(
    const at::Tensor& x,
    const ColumnParallelLinear& column,
    const RowParallelLinear& row,
    const std::function<at::Tensor(const at::Tensor&)>& activation
) {
    const at::Tensor h = column.forward(x);
    return row.forward(activation ? activation(h) : at::gelu(h));
}

}  // namespace dist
