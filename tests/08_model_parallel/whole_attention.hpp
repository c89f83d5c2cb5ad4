// Attention as one process has it, in double precision and with all scores at once; and a part.
#pragma once

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/ring_attention.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

struct Way {
    const char* name;
    bool causal, balanced;
};
inline constexpr Way kWays[] = {
    {"without a causal mask", false, false},
    {"causal, contiguous", true, false},
    {"causal, balanced", true, true}};

/// The tokens that rank `rank` of p has, written once more.
inline std::vector<std::int64_t> tokens_of(std::int64_t s, int p, int rank, bool balanced) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t token = 0; token < s; ++token) {
        const std::int64_t piece = token * (balanced ? 2 * p : p) / s;
        if (piece == rank || (balanced && piece == 2 * p - 1 - rank)) {
            tokens.push_back(token);
        }
    }
    return tokens;
}

/// A result and three gradients, of all tokens.
struct Outcome {
    at::Tensor out, dq, dk, dv;
};

/// Queries, keys and values of a whole sequence, and a gradient of the result; the same on every
/// rank. Of input(), in eighths: no number is greater than 1.
struct WholeAttention {
    WholeAttention(Way way, std::vector<std::int64_t> shape, std::uint64_t salt = 0)
        : options{.causal = way.causal, .balanced = way.balanced, .scale = {}},
          q(filled(shape, 0, salt + 1).div(8)),
          k(filled(shape, 0, salt + 2).div(8)),
          v(filled(shape, 0, salt + 3).div(8)),
          gradient(filled(shape, 0, salt + 4).div(8)) {}

    /// With the gradient of the result of some rows only, where `rows` has 1.
    [[nodiscard]] Outcome outcome(const at::Tensor& rows = {}) const {
        const auto leaf = [](const at::Tensor& t) { return t.to(at::kDouble).requires_grad_(); };
        Outcome all;
        const at::Tensor dq = leaf(q);
        const at::Tensor dk = leaf(k);
        const at::Tensor dv = leaf(v);
        const std::int64_t s = q.size(2);
        const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
        at::Tensor scores = at::matmul(dq, dk.transpose(-2, -1)).mul(scale);
        if (options.causal) {
            const at::Tensor later = at::ones({s, s}, at::kBool).triu(1);
            scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
        }
        const at::Tensor out = at::matmul(at::softmax(scores, -1), dv);
        out.mul(rows.defined() ? gradient.mul(rows) : gradient).sum().backward();
        return {out.detach().to(at::kFloat), of(dq), of(dk), of(dv)};
    }

    /// The rows of a rank's tokens.
    [[nodiscard]] at::Tensor part(const at::Tensor& whole, int p, int rank) const {
        const auto tokens = tokens_of(q.size(2), p, rank, options.balanced);
        return whole.index_select(2, at::tensor(tokens));
    }

    RingAttentionOptions options;
    at::Tensor q, k, v, gradient;

  private:
    static at::Tensor of(const at::Tensor& leaf) { return leaf.grad().to(at::kFloat); }
};

/// What this rank has of it, as leaves that require gradients.
struct OwnAttention {
    OwnAttention(
        const WholeAttention& all, const Communicator& ranks, Layout layout = Layout::contiguous
    )
        : whole(all),
          comm(ranks),
          q(own(all.q, layout)),
          k(own(all.k, layout)),
          v(own(all.v, layout)) {}

    [[nodiscard]] at::Tensor own(const at::Tensor& t, Layout layout = Layout::contiguous) const {
        return laid_out(whole.part(t, comm.size(), comm.rank()), layout).requires_grad_();
    }

    [[nodiscard]] at::Tensor forward() const {
        return ring_attention(q, k, v, whole.options, comm);
    }

    void backward(const at::Tensor& out, Layout layout = Layout::contiguous) const {
        const at::Tensor g = whole.part(whole.gradient, comm.size(), comm.rank());
        out.backward(laid_out(g, layout));
    }

    const WholeAttention& whole;
    const Communicator& comm;
    at::Tensor q, k, v;
};

/// Sums of at most 24 products of numbers up to 1, and exp of scores up to 3: each rounds by 2^-24
/// of numbers up to 24.
constexpr double kTolerance = 1e-5;

/// Result and gradients are this rank's rows of those of one process.
inline void is_as_one(
    const OwnAttention& mine, const at::Tensor& out, double tolerance = kTolerance, double unit = 1
) {
    const WholeAttention& whole = mine.whole;
    const int p = mine.comm.size();
    const int r = mine.comm.rank();
    const auto rows = [&](const at::Tensor& t, int rank) {
        return elements(whole.part(t, p, rank).div(unit));
    };
    const Outcome right = whole.outcome();
    const auto check = [&](const char* what, const at::Tensor& got, const at::Tensor& expected,
                           const std::vector<Suspicion>& mistakes) {
        INFO(what);
        const bool has_rows = got.defined() && got.sizes() == mine.q.sizes();
        const Comparison result =
            has_rows ? same(elements(got.div(unit)), rows(expected, r), tolerance, mistakes)
                     : Comparison{false, "it is undefined, or has another shape than q"};
        CHECK(result);
    };
    WholeAttention other = whole;
    other.options.causal = false;
    const Outcome unmasked = other.outcome();
    other = whole;
    other.options.scale = 1;
    const Outcome unscaled = other.outcome();
    at::Tensor here = at::zeros(whole.q.sizes());
    here.index_fill_(2, at::tensor(tokens_of(whole.q.size(2), p, r, whole.options.balanced)), 1);
    const Outcome alone = whole.outcome(here);
    const int next = (r + 1) % p;
    const std::string no_mask = "that is without the causal mask";
    const std::string no_scale = "that is with a scale of 1";
    check(
        "the result of this rank's rows", out, right.out,
        {{rows(unmasked.out, r), no_mask}, {rows(unscaled.out, r), no_scale}}
    );
    check(
        "the gradient of this rank's queries", mine.q.grad(), right.dq,
        {{rows(unmasked.dq, r), no_mask}, {rows(unscaled.dq, r), no_scale}}
    );
    const auto check_keys = [&](const char* what, const at::Tensor& got, const auto& gradient) {
        check(
            what, got, gradient(right),
            {{rows(gradient(alone), r),
              "that is what this rank's own queries bring: all that "
              "attend to these keys have a part in it"},
             {rows(gradient(right), next),
              "that is the gradient of the next rank's: after its last "
              "visit it has one more step to go home"},
             {rows(gradient(unmasked), r), no_mask},
             {rows(gradient(unscaled), r), no_scale}}
        );
    };
    check_keys("the gradient of this rank's keys", mine.k.grad(), [](const Outcome& o) {
        return o.dk;
    });
    check_keys("the gradient of this rank's values", mine.v.grad(), [](const Outcome& o) {
        return o.dv;
    });
}

inline void computes_as_one(
    const WholeAttention& whole,
    const Communicator& comm,
    Layout layout = Layout::contiguous,
    double tolerance = kTolerance,
    double unit = 1
) {
    const OwnAttention mine(whole, comm, layout);
    const at::Tensor out = mine.forward();
    mine.backward(out, layout);
    is_as_one(mine, out, tolerance, unit);
}

}  // namespace dist::harness
