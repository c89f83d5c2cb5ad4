#include "exercises/08_model_parallel/expert_parallel.hpp"

#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Counts = std::vector<std::int64_t>;

std::int64_t sum(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

Counts as_counts(const at::Tensor& whole_numbers) {
    const at::Tensor flat = whole_numbers.to(at::kLong).contiguous();
    return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

/// Sends block j of the rows to rank j, and receives block i from rank i.
at::Tensor exchanged(
    const at::Tensor& rows, const Counts& sends, const Counts& receives, const Communicator& comm
) {
    const at::Tensor out = at::empty({sum(receives), rows.size(1)}, rows.options());
    const std::vector<at::Tensor> sent = rows.split_with_sizes(sends);
    const std::vector<at::Tensor> received = out.split_with_sizes(receives);
    const auto p = static_cast<std::size_t>(comm.size());
    const auto r = static_cast<std::size_t>(comm.rank());
    std::vector<Request> requests;
    for (std::size_t s = 1; s < p; ++s) {
        const std::size_t src = (r + p - s) % p;
        if (receives[src] > 0) {
            requests.push_back(irecv(nn::floats(received[src]), static_cast<int>(src), comm));
        }
    }
    for (std::size_t s = 1; s < p; ++s) {
        const std::size_t dst = (r + s) % p;
        if (sends[dst] > 0) {
            requests.push_back(isend(nn::floats(sent[dst]), static_cast<int>(dst), comm));
        }
    }
    received[r].copy_(sent[r]);
    wait_all(requests);
    return out;
}

struct Exchange : torch::autograd::Function<Exchange> {
    static at::Tensor forward(
        AutogradContext* ctx,
        const at::Tensor& rows,
        const Counts& sends,
        const Counts& receives,
        const Communicator& comm
    ) {
        ctx->saved_data["sends"] = sends;
        ctx->saved_data["receives"] = receives;
        ctx->saved_data["comm"] = reinterpret_cast<std::int64_t>(&comm);
        return exchanged(rows.contiguous(), sends, receives, comm);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        if (c10::GradMode::is_enabled()) {
            throw std::logic_error("exchange_rows: it cannot be differentiated again");
        }
        const Counts sends = ctx->saved_data["sends"].toIntVector();
        const Counts receives = ctx->saved_data["receives"].toIntVector();
        const auto& comm = *reinterpret_cast<const Communicator*>(ctx->saved_data["comm"].toInt());
        return {exchanged(gradients[0].contiguous(), receives, sends, comm), {}, {}, {}};
    }
};

/// Which kept choices leave, by expert, then by token: choice j of token t is number t * k + j.
at::Tensor departures(const Routing& routing, const at::Tensor& counts) {
    const std::int64_t nobody = routing.probabilities.size(1);
    const at::Tensor experts = routing.experts.masked_fill(routing.kept.logical_not(), nobody);
    const auto [sorted, order] =
        experts.reshape({-1}).sort(/*stable=*/true, 0, /*descending=*/false);
    return order.narrow(0, 0, counts.sum().item<std::int64_t>());
}

/// Rows lie by source, then by expert: `counts` has a row for each source. Each expert gets its own
/// from all sources, and its results are put back to where those lay.
at::Tensor computed(const at::Tensor& rows, const at::Tensor& counts, const Experts& experts) {
    const auto n = static_cast<std::size_t>(counts.size(1));
    std::vector<at::Tensor> blocks = rows.split_with_sizes(as_counts(counts));
    for (std::size_t e = 0; e < n; ++e) {
        std::vector<at::Tensor> own;
        for (std::size_t b = e; b < blocks.size(); b += n) {
            own.push_back(blocks[b]);
        }
        const auto local = static_cast<std::int64_t>(e);
        const at::Tensor results = experts(local, at::cat(own));
        own = results.split_with_sizes(as_counts(counts.select(1, local)));
        for (std::size_t b = e; b < blocks.size(); b += n) {
            blocks[b] = own[b / n];
        }
    }
    return at::cat(blocks);
}

}  // namespace

std::int64_t expert_capacity(
    std::int64_t tokens, std::int64_t k, std::int64_t experts, double factor
) {
    const double choices =
        static_cast<double>(tokens * k) * factor;  // a division before it could round up
    return static_cast<std::int64_t>(std::ceil(choices / static_cast<double>(experts)));
}

Routing route(const at::Tensor& scores, std::int64_t k, double factor) {
    expects(scores.dim() == 2, "route: scores must have a row for each token");
    expects(1 <= k && k <= scores.size(1), "route: k must be 1 to the number of experts");
    expects(factor > 0, "route: factor must be positive");
    const std::int64_t e = scores.size(1);
    const auto [sorted, best_first] =
        scores.detach().sort(/*stable=*/true, -1, /*descending=*/true);
    Routing routing;
    routing.experts = best_first.narrow(-1, 0, k).contiguous();
    routing.probabilities = scores.softmax(-1);
    routing.weights = routing.probabilities.gather(-1, routing.experts);
    // (T, E): how many choices each expert has up to and with this token
    const at::Tensor places = at::one_hot(routing.experts, e).sum(1).cumsum(0);
    routing.kept =
        places.gather(-1, routing.experts).le(expert_capacity(scores.size(0), k, e, factor));
    return routing;
}

at::Tensor balance_loss(const Routing& routing, const Communicator& comm) {
    const at::Tensor& p = routing.probabilities;
    const at::Tensor counts =
        at::bincount(routing.experts.reshape({-1}), {}, p.size(1)).to(at::kFloat);
    ring_all_reduce(nn::floats(counts), ReduceOp::sum, comm);
    const double choices = std::max(counts.sum().item<double>(), 1.0);
    const double tokens = std::max(static_cast<double>(p.size(0)), 1.0);
    return counts.dot(p.sum(0)).mul(p.size(1)).div(choices * tokens);
}

at::Tensor exchange_rows(
    const at::Tensor& rows, const Counts& sends, const Counts& receives, const Communicator& comm
) {
    const auto fits = [&comm](const Counts& counts) {
        return std::ssize(counts) == comm.size() &&
               std::ranges::all_of(counts, [](std::int64_t n) { return n >= 0; });
    };
    expects(fits(sends) && fits(receives), "exchange_rows: each rank has a number of rows, >= 0");
    expects(rows.size(0) == sum(sends), "exchange_rows: sends must add up to the rows");
    return Exchange::apply(rows, sends, receives, comm);
}

at::Tensor expert_parallel(
    const at::Tensor& x, const Routing& routing, const Experts& experts, const Communicator& comm
) {
    const std::int64_t e = routing.probabilities.size(1);
    const std::int64_t p = comm.size();
    expects(e % p == 0, "expert_parallel: the number of ranks must divide that of experts");
    expects(
        x.size(0) == routing.experts.size(0),
        "expert_parallel: routing must have a row for each token"
    );
    const at::Tensor counts =
        at::bincount(routing.experts.masked_select(routing.kept), {}, e).to(at::kFloat);
    const at::Tensor arriving = at::empty_like(counts);
    all_to_all(nn::floats(counts), nn::floats(arriving), comm);
    const at::Tensor by_source = arriving.view({p, e / p});
    const Counts sends = as_counts(counts.view({p, e / p}).sum(1));
    const Counts receives = as_counts(by_source.sum(1));

    const at::Tensor choices = departures(routing, counts);
    const at::Tensor tokens = choices.div(routing.experts.size(1), "floor");
    const at::Tensor here = exchange_rows(x.index_select(0, tokens), sends, receives, comm);
    const at::Tensor back =
        exchange_rows(computed(here, by_source, experts), receives, sends, comm);
    const at::Tensor weights = routing.weights.reshape({-1}).index_select(0, choices);
    return at::zeros(x.sizes(), back.options())
        .index_add(0, tokens, back.mul(weights.unsqueeze(-1)));
}

}  // namespace dist
