#include "exercises/08_model_parallel/ring_attention.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// What this rank attends to of a rank's keys: queries from `first` on look at keys before `last`.
struct Block {
    std::int64_t first, last;
    bool diagonal;  // query i looks at keys 0 to i only

    [[nodiscard]] bool empty(std::int64_t n) const { return first == n || last == 0; }
    [[nodiscard]] at::Tensor queries(const at::Tensor& rows) const {
        return rows.narrow(2, first, rows.size(2) - first);
    }
    [[nodiscard]] at::Tensor keys(const at::Tensor& rows) const { return rows.narrow(2, 0, last); }
};

/// Attention of this rank's n tokens, on its way around the ring.
struct Ring {
    const Communicator& comm;
    std::int64_t n;
    bool causal, balanced;
    double scale;

    /// The rank whose keys are here after so many steps.
    [[nodiscard]] int owner(int step) const {
        return (comm.rank() - step + comm.size()) % comm.size();
    }

    /// Tokens ascend, so a rank's own block is masked by place. A rank before this one has all
    /// tokens of its head earlier, and all of its tail later; a rank behind it, the reverse.
    [[nodiscard]] Block block(int from) const {
        const std::int64_t half = balanced ? n / 2 : n;
        if (!causal || from == comm.rank()) {
            return {0, n, causal};
        }
        return from < comm.rank() ? Block{0, half, false} : Block{half, n, false};
    }

    /// Hands a tensor on, and gives that of the rank before.
    [[nodiscard]] at::Tensor shifted(const at::Tensor& mine) const {
        at::Tensor theirs = at::empty_like(mine);
        ring_shift(nn::floats(mine), nn::floats(theirs), comm);
        return theirs;
    }

    [[nodiscard]] at::Tensor scores(const at::Tensor& q, const at::Tensor& k, const Block& block)
        const {
        at::Tensor all = at::matmul(block.queries(q), block.keys(k).transpose(-2, -1)).mul_(scale);
        if (block.diagonal) {
            all.masked_fill_(at::ones({n, n}, at::kBool).triu_(1), kNever);
        }
        return all;
    }
};

/// softmax(scores) v of rows whose scores come block by block.
struct OnlineSoftmax {
    at::Tensor out;      // sum of exp(score - largest) v
    at::Tensor sum;      // of exp(score - largest)
    at::Tensor largest;  // score so far

    explicit OnlineSoftmax(const at::Tensor& q) {
        std::vector<std::int64_t> rows = q.sizes().vec();
        rows.back() = 1;
        out = at::zeros(q.sizes(), q.options());
        sum = at::zeros(rows, q.options());
        largest = at::full(rows, kNever, q.options());
    }

    /// What is there fades where the block has a larger score than all before.
    void add(at::Tensor scores, const at::Tensor& v, const Block& block) {
        const at::Tensor most = block.queries(largest);
        const at::Tensor more = at::maximum(most, scores.amax(-1, true));
        const at::Tensor fade = most.sub(more).exp_();
        scores.sub_(more).exp_();
        block.queries(out).mul_(fade).add_(at::matmul(scores, block.keys(v)));
        block.queries(sum).mul_(fade).add_(scores.sum(-1, true));
        most.copy_(more);
    }
};

struct RingAttention : torch::autograd::Function<RingAttention> {
    static at::Tensor forward(
        AutogradContext* ctx,
        const at::Tensor& q,
        const at::Tensor& k,
        const at::Tensor& v,
        const Ring& ring
    ) {
        OnlineSoftmax softmax(q);
        at::Tensor kv = at::stack({k, v});
        for (int step = 0; step < ring.comm.size(); ++step) {
            kv = step == 0 ? kv : ring.shifted(kv);
            const Block block = ring.block(ring.owner(step));
            if (block.empty(ring.n)) {
                continue;
            }
            softmax.add(ring.scores(q, kv[0], block), kv[1], block);
        }
        softmax.out.div_(softmax.sum);
        ctx->save_for_backward({q, k, v, softmax.out, softmax.largest, softmax.sum});
        ctx->saved_data["comm"] = reinterpret_cast<std::int64_t>(&ring.comm);
        ctx->saved_data["causal"] = ring.causal;
        ctx->saved_data["balanced"] = ring.balanced;
        ctx->saved_data["scale"] = ring.scale;
        return softmax.out;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        if (c10::GradMode::is_enabled()) {
            throw std::logic_error("ring_attention: it cannot be differentiated again");
        }
        const variable_list saved = ctx->get_saved_variables();
        const at::Tensor& q = saved[0];
        const Ring ring{
            *reinterpret_cast<const Communicator*>(ctx->saved_data["comm"].toInt()), q.size(2),
            ctx->saved_data["causal"].toBool(), ctx->saved_data["balanced"].toBool(),
            ctx->saved_data["scale"].toDouble()};
        const at::Tensor& dout = gradients[0];
        const at::Tensor dot = dout.mul(saved[3]).sum(-1, true);
        at::Tensor dq = at::zeros(q.sizes(), q.options());
        at::Tensor kv = at::stack({saved[1], saved[2]});
        at::Tensor dkv = at::zeros_like(kv);
        // After each step dkv holds what all ranks that kv has visited have found.
        for (int step = 0; step < ring.comm.size(); ++step) {
            if (step > 0) {
                kv = ring.shifted(kv);
                dkv = ring.shifted(dkv);
            }
            const Block block = ring.block(ring.owner(step));
            if (block.empty(ring.n)) {
                continue;
            }
            const at::Tensor k = block.keys(kv[0]);
            const at::Tensor of_rows = block.queries(dout);
            const at::Tensor weights = ring.scores(q, kv[0], block)
                                           .sub_(block.queries(saved[4]))
                                           .exp_()
                                           .div_(block.queries(saved[5]));
            block.keys(dkv[1]).add_(at::matmul(weights.transpose(-2, -1), of_rows));
            const at::Tensor dscores = at::matmul(of_rows, block.keys(kv[1]).transpose(-2, -1))
                                           .sub_(block.queries(dot))
                                           .mul_(weights)
                                           .mul_(ring.scale);
            block.keys(dkv[0]).add_(at::matmul(dscores.transpose(-2, -1), block.queries(q)));
            block.queries(dq).add_(at::matmul(dscores, k));
        }
        if (ring.comm.size() > 1) {
            dkv = ring.shifted(dkv);  // it is with the rank before its owner
        }
        return {dq, dkv[0], dkv[1], {}};
    }
};

}  // namespace

std::vector<std::int64_t> ring_attention_tokens(std::int64_t s, int p, int rank, bool balanced) {
    expects(0 <= rank && rank < p, "ring_attention_tokens: rank must be one of p");
    const std::int64_t pieces = balanced ? 2L * p : p;
    expects(
        s >= 0 && s % pieces == 0,
        "ring_attention_tokens: p must divide the number of tokens, and 2p where balanced"
    );
    const std::int64_t length = s / pieces;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(s / p));
    const auto middle = tokens.begin() + length;
    std::iota(tokens.begin(), middle, rank * length);
    std::iota(middle, tokens.end(), (pieces - 1 - rank) * length);
    return tokens;
}

at::Tensor ring_attention(
    const at::Tensor& q,
    const at::Tensor& k,
    const at::Tensor& v,
    const RingAttentionOptions& options,
    const Communicator& comm
) {
    expects(
        q.dim() == 4 && k.sizes() == q.sizes() && v.sizes() == q.sizes(),
        "ring_attention: q, k and v must have one shape, (b, heads, n, d)"
    );
    expects(
        !options.balanced || options.causal,
        "ring_attention: without a causal mask ranks have the same work already: nothing to balance"
    );
    const std::int64_t n = q.size(2);
    expects(
        !options.balanced || n % 2 == 0,
        "ring_attention: a balanced rank has two pieces of one length, so n must be even"
    );
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
    return RingAttention::apply(q, k, v, Ring{comm, n, options.causal, options.balanced, scale});
}

}  // namespace dist
