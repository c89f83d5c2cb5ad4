// Words, and tokens with a logit for each of 12 words: 1, 2, 3 and 4 divide 12. One process computes the loss in double
// precision.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "exercises/08_model_parallel/vocab_parallel.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

constexpr std::int64_t kWords = 12;

/// So many words, the same on every rank: not one of those from `never` on, each other one at least once among 12.
inline at::Tensor words(at::IntArrayRef shape, std::int64_t never = 0, std::int64_t count = 0) {
    at::Tensor ids = at::empty(shape, at::kLong);
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
        const std::int64_t word = (5 * i + 3) % (kWords - count);
        ids.data_ptr<std::int64_t>()[i] = word < never ? word : word + count;
    }
    return ids;
}

/// Tokens, their targets, and their logits of all words: whole numbers.
struct Tokens {
    /// exp, 12 additions, a division and log, each of which rounds by some 2^-24 of numbers up to 1; the gradient is up to
    /// 8 times that.
    static constexpr double kTolerance = 1e-5;

    explicit Tokens(
        std::vector<std::int64_t> shape,
        std::int64_t never = 0,
        std::int64_t count = 0,
        std::uint64_t salt = 0
    )
        : targets(words(shape, never, count)), salt_(salt) {
        shape.push_back(kWords);
        logits = filled(shape, 0, salt + 1);
    }

    struct Expected {
        std::vector<float> losses;
        at::Tensor gradient;    // of all logits, where upstream() is that of the losses
        at::Tensor of_the_sum;  // with 1 in the place of upstream()
        at::Tensor softmax;     // times upstream()
    };

    /// What one process gets.
    [[nodiscard]] Expected expected() const {
        Expected all{
            {},
            at::empty(logits.sizes(), at::kFloat),
            at::empty(logits.sizes(), at::kFloat),
            at::empty(logits.sizes(), at::kFloat)};
        const std::vector<float> values = elements(logits);
        const std::vector<float> factors = elements(upstream());
        for (std::size_t i = 0; i < count(targets); ++i) {
            const float* const row = values.data() + i * kWords;
            const std::int64_t target = targets.data_ptr<std::int64_t>()[i];
            const double largest = *std::max_element(row, row + kWords);
            double sum = 0;
            for (std::int64_t k = 0; k < kWords; ++k) {
                sum += std::exp(row[k] - largest);
            }
            all.losses.push_back(static_cast<float>(std::log(sum) - (row[target] - largest)));
            for (std::int64_t k = 0; k < kWords; ++k) {
                const double softmax = std::exp(row[k] - largest) / sum;
                const double of_the_sum = softmax - (k == target ? 1 : 0);
                const std::size_t at = i * kWords + static_cast<std::size_t>(k);
                all.gradient.data_ptr<float>()[at] = static_cast<float>(of_the_sum * factors[i]);
                all.of_the_sum.data_ptr<float>()[at] = static_cast<float>(of_the_sum);
                all.softmax.data_ptr<float>()[at] = static_cast<float>(softmax * factors[i]);
            }
        }
        return all;
    }

    /// A gradient of the losses, another for each.
    [[nodiscard]] at::Tensor upstream() const { return filled(targets.sizes(), 0, salt_ + 2); }

    /// This rank's logits, as a leaf that requires a gradient.
    [[nodiscard]] at::Tensor part_of_logits(Layout layout, const Communicator& comm) const {
        return laid_out(part(logits, -1, comm), layout).requires_grad_();
    }

    /// Is it the gradient of this rank's logits?
    [[nodiscard]] Comparison is_gradient(const at::Tensor& got, const Communicator& comm) const {
        if (!got.defined()) {
            return {false, "logits have no gradient"};
        }
        const Expected right = expected();
        const auto own = [&](const at::Tensor& all) { return elements(part(all, -1, comm)); };
        return same(
            elements(got), own(right.gradient), kTolerance,
            {{own(right.of_the_sum),
              "that is where each loss counts alike: backward brings a number for each"},
             {own(right.softmax), "that is softmax, without 1 less at the target"}}
        );
    }

    /// Losses, and the gradient of this rank's logits, are those of one process.
    void train_as_one(Layout layout, const Communicator& comm) const {
        const at::Tensor own = part_of_logits(layout, comm);
        const at::Tensor losses = vocab_parallel_cross_entropy(own, targets, comm);
        losses.mul(upstream()).sum().backward();
        {
            INFO("the loss of each token");
            CHECK(losses.sizes() == targets.sizes());
            CHECK(same(elements(losses), expected().losses, kTolerance));
        }
        INFO("the gradient of this rank's logits");
        CHECK(is_gradient(own.grad(), comm));
    }

    at::Tensor logits;   // (..., 12)
    at::Tensor targets;  // (...)

  private:
    std::uint64_t salt_;
};

}  // namespace dist::harness
