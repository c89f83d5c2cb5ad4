#include "exercises/08_model_parallel/sequence_parallel.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <future>
#include <mutex>
#include <vector>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr Placement kTokens = Placement::shard(1);

at::Tensor in_rows(const at::Tensor& x) {
    return x.reshape({-1, x.size(-1)});
}

/// The product of all tokens with this rank's rows of the weight. Of the tokens it keeps this rank's.
struct GatheredProduct : torch::autograd::Function<GatheredProduct> {
    static at::Tensor forward(
        AutogradContext* ctx,
        const at::Tensor& x,
        const at::Tensor& weight,
        const Communicator& comm
    ) {
        ctx->save_for_backward({x, weight});
        ctx->saved_data["comm"] = reinterpret_cast<std::int64_t>(&comm);
        return at::linear(gather_from_sequence_parallel_region(x, comm), weight);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const variable_list saved = ctx->get_saved_variables();
        const at::Tensor x = saved[0].detach();  // threads of their own record for autograd
        const at::Tensor& weight = saved[1];
        const auto& comm = *reinterpret_cast<const Communicator*>(ctx->saved_data["comm"].toInt());
        const at::Tensor dy = in_rows(gradients[0]);
        at::Tensor dx;
        at::Tensor dw;
        std::future<at::Tensor> gathering;
        std::future<at::Tensor> scattering;
        if (ctx->needs_input_grad(1)) {
            gathering = std::async(std::launch::async, [&x, &comm] {
                return in_rows(gather_from_sequence_parallel_region(x, comm));
            });
        }
        if (ctx->needs_input_grad(0)) {
            dx = dy.mm(weight).view({gradients[0].size(0), gradients[0].size(1), x.size(2)});
        }
        // one exchange at a time: messages of two would be taken for each other's
        const at::Tensor all = gathering.valid() ? gathering.get() : at::Tensor();
        if (dx.defined()) {
            scattering = std::async(std::launch::async, [&dx, &comm] {
                return reduce_scatter_to_sequence_parallel_region(dx.detach(), comm);
            });
        }
        if (all.defined()) {
            dw = dy.t().mm(all);
        }
        return {scattering.valid() ? scattering.get() : at::Tensor(), dw, {}};
    }
};

void expect_tokens_and_columns(
    const at::Tensor& x, const at::Tensor& weight, const char* otherwise
) {
    expects(x.dim() == 3 && x.size(2) == weight.size(1), otherwise);
}

at::Tensor with_bias(const at::Tensor& y, const at::Tensor& bias) {
    return bias.defined() ? y.add(bias) : y;
}

at::Tensor cut(
    const at::Tensor& x, Placement from, const Communicator& comm, const char* otherwise
) {
    expects(x.dim() >= 2 && x.size(1) % comm.size() == 0, otherwise);
    return redistribute(x, from, kTokens, x.sizes(), comm);
}

}  // namespace

at::Tensor gather_from_sequence_parallel_region(
    const at::Tensor& x, const Communicator& comm, Placement gradient
) {
    expects(x.dim() >= 2, "gather_from_sequence_parallel_region: x must be (B, T/t, ...)");
    std::vector<std::int64_t> whole = x.sizes().vec();
    whole[1] *= comm.size();
    return redistribute(x, kTokens, Placement::replicate(), whole, comm, gradient);
}

at::Tensor reduce_scatter_to_sequence_parallel_region(
    const at::Tensor& partial, const Communicator& comm
) {
    return cut(
        partial, Placement::partial(), comm,
        "reduce_scatter_to_sequence_parallel_region: the number of ranks must divide that of tokens"
    );
}

at::Tensor scatter_to_sequence_parallel_region(const at::Tensor& x, const Communicator& comm) {
    return cut(
        x, Placement::replicate(), comm,
        "scatter_to_sequence_parallel_region: the number of ranks must divide that of tokens"
    );
}

at::Tensor sequence_parallel_column_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
) {
    expect_tokens_and_columns(
        x, weight, "sequence_parallel_column_linear: x must be (B, T/t, columns of the weight)"
    );
    return with_bias(GatheredProduct::apply(x, weight, comm), bias);
}

at::Tensor sequence_parallel_row_linear(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Communicator& comm
) {
    expect_tokens_and_columns(
        x, weight, "sequence_parallel_row_linear: x must be (B, T, columns of the weight)"
    );
    const at::Tensor y = reduce_scatter_to_sequence_parallel_region(at::linear(x, weight), comm);
    return with_bias(y, bias);
}

void all_reduce_sequence_parallel_gradients(
    std::span<const at::Tensor> parameters, const Communicator& comm
) {
    std::vector<at::Tensor> gradients;
    std::vector<at::Tensor> flat;
    for (const at::Tensor& parameter : parameters) {
        if (parameter.grad().defined()) {
            gradients.push_back(parameter.grad());
            flat.push_back(parameter.grad().reshape({-1}));
        }
    }
    if (gradients.empty()) {
        return;
    }
    const at::Tensor row = at::cat(flat);
    ring_all_reduce(nn::floats(row), ReduceOp::sum, comm);
    std::int64_t begin = 0;
    for (const at::Tensor& gradient : gradients) {
        gradient.copy_(row.narrow(0, begin, gradient.numel()).view(gradient.sizes()));
        begin += gradient.numel();
    }
}

// The seed is drawn where all ranks still draw the same: so it is new in each scope, and comes again when the
// generator does.
ShardedRandom::ShardedRandom(const Communicator& comm) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock guard(generator.mutex());
    const std::uint64_t drawn = generator.get<at::CPUGeneratorImpl>()->random();
    after_ = generator.get_state();
    generator.set_current_seed(drawn + static_cast<std::uint64_t>(comm.rank()));
}

ShardedRandom::~ShardedRandom() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock guard(generator.mutex());
    generator.set_state(after_);
}

}  // namespace dist
