#include "exercises/08_model_parallel/vocab_parallel.hpp"

#include <ATen/ops/embedding.h>
#include <c10/core/GradMode.h>
#include <stdexcept>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Words as this rank numbers them. Those of other ranks are word 0 here, and marked.
struct OwnWords {
    at::Tensor ids;
    at::Tensor are_foreign;
};

OwnWords own_words(
    const at::Tensor& ids, std::int64_t own, const Communicator& comm, const char* otherwise
) {
    const std::int64_t all = own * comm.size();
    expects(!ids.lt(0).logical_or_(ids.ge(all)).any().item<bool>(), otherwise);
    const at::Tensor shifted = ids.sub(own * comm.rank());
    const at::Tensor are_foreign = shifted.lt(0).logical_or_(shifted.ge(own));
    return {shifted.masked_fill(are_foreign, 0), are_foreign};
}

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
        if (c10::GradMode::is_enabled()) {
            throw std::logic_error("vocab_parallel: it cannot be differentiated again");
        }
        return {gradients[0], {}};
    }
};

struct CrossEntropy : torch::autograd::Function<CrossEntropy> {
    static at::Tensor forward(
        AutogradContext* ctx,
        const at::Tensor& logits,
        const OwnWords& targets,
        const Communicator& comm
    ) {
        const at::Tensor largest = logits.amax(-1);
        ring_all_reduce(nn::floats(largest), ReduceOp::max, comm);
        const at::Tensor exponentials = logits.sub(largest.unsqueeze(-1));
        const at::Tensor columns = targets.ids.unsqueeze(-1);
        const at::Tensor target =
            exponentials.gather(-1, columns).squeeze(-1).masked_fill_(targets.are_foreign, 0);
        ring_all_reduce(nn::floats(target), ReduceOp::sum, comm);
        const at::Tensor sum = exponentials.exp_().sum(-1);
        ring_all_reduce(nn::floats(sum), ReduceOp::sum, comm);
        const at::Tensor softmax = exponentials.div_(sum.unsqueeze(-1));
        ctx->save_for_backward({softmax, columns, targets.are_foreign});
        return sum.log().sub_(target);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        if (c10::GradMode::is_enabled()) {
            throw std::logic_error("vocab_parallel: it cannot be differentiated again");
        }
        const variable_list saved = ctx->get_saved_variables();
        const at::Tensor& softmax = saved[0];
        const at::Tensor at_target = saved[2].logical_not().to(softmax.scalar_type()).neg_();
        softmax.scatter_add_(-1, saved[1], at_target.unsqueeze(-1));
        return {softmax.mul_(gradients[0].unsqueeze(-1)), {}, {}};
    }
};

}  // namespace

at::Tensor vocab_parallel_embedding(
    const at::Tensor& ids, const at::Tensor& shard, const Communicator& comm
) {
    const auto [own, are_foreign] = own_words(
        ids, shard.size(0), comm, "vocab_parallel_embedding: a word is outside of the vocabulary"
    );
    const at::Tensor rows = at::embedding(shard, own);
    return AddedUp::apply(rows.masked_fill(are_foreign.unsqueeze(-1), 0), comm);
}

at::Tensor vocab_parallel_cross_entropy(
    const at::Tensor& logits, const at::Tensor& targets, const Communicator& comm
) {
    expects(
        logits.dim() >= 1 && targets.sizes() == logits.sizes().slice(0, logits.dim() - 1),
        "vocab_parallel_cross_entropy: there must be a target for each token"
    );
    const OwnWords own = own_words(
        targets, logits.size(-1), comm,
        "vocab_parallel_cross_entropy: a target is outside of the vocabulary"
    );
    return CrossEntropy::apply(logits, own, comm);
}

}  // namespace dist
