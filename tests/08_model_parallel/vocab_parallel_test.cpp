// What vocab_parallel must do: an embedding and a cross entropy that are those of one process, where each rank has its
// part of the words, and the ranks exchange a few numbers for each token.
#include "exercises/08_model_parallel/vocab_parallel.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/08_model_parallel/differentiated_again.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kWords = 12;

/// So many words, the same on every rank: not one of those from `never` on, each other one at least once among 12.
at::Tensor words(at::IntArrayRef shape, std::int64_t never = 0, std::int64_t count = 0) {
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

    explicit Tokens(Shape shape, std::uint64_t salt = 0) : targets(words(shape)), salt_(salt) {
        shape.push_back(kWords);
        logits = filled(shape, 0, salt + 1);
    }

    struct Expected {
        at::Tensor losses;
        at::Tensor gradient;    // of all logits, where upstream() is that of the losses
        at::Tensor of_the_sum;  // with 1 in the place of upstream()
        at::Tensor softmax;     // times upstream()
    };

    /// What one process gets, in double precision.
    [[nodiscard]] Expected expected() const {
        const at::Tensor logs = at::log_softmax(logits, -1, at::kDouble);
        const at::Tensor words = targets.unsqueeze(-1);
        const at::Tensor of_the_sum =
            logs.exp().scatter_add(-1, words, at::full_like(words, -1, at::kDouble));
        const at::Tensor factors = upstream().unsqueeze(-1);
        return {
            logs.gather(-1, words).squeeze(-1).neg().to(at::kFloat),
            of_the_sum.mul(factors).to(at::kFloat), of_the_sum.to(at::kFloat),
            logs.exp().mul(factors).to(at::kFloat)};
    }

    /// A gradient of the losses, another for each.
    [[nodiscard]] at::Tensor upstream() const { return filled(targets.sizes(), 0, salt_ + 2); }

    /// This rank's logits, as a leaf that requires a gradient.
    [[nodiscard]] at::Tensor part_of_logits(
        const Communicator& comm, Layout layout = Layout::contiguous
    ) const {
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
    void train_as_one(const Communicator& comm, Layout layout = Layout::contiguous) const {
        const at::Tensor own = part_of_logits(comm, layout);
        const at::Tensor losses = vocab_parallel_cross_entropy(own, targets, comm);
        losses.mul(upstream()).sum().backward();
        {
            INFO("the loss of each token");
            CHECK(losses.sizes() == targets.sizes());
            CHECK(same(elements(losses), elements(expected().losses), kTolerance));
        }
        INFO("the gradient of this rank's logits");
        CHECK(is_gradient(own.grad(), comm));
    }

    at::Tensor logits;   // (..., 12)
    at::Tensor targets;  // (...)

  private:
    std::uint64_t salt_;
};

const Forbid kForbid({"collectives"}, "This exercise stands on your own ring_all_reduce.");

/// So many bytes, in as many messages as ring all-reduces have: of n floats each, which p divides.
Cost all_reduces(long least, long most, long n, const Communicator& comm) {
    const long messages = 2L * (comm.size() - 1);
    return {
        .messages_sent = {least * messages, most * messages},
        .bytes_sent =
            exactly(most * messages * float_bytes(static_cast<std::size_t>(n)) / comm.size()),
        .among = neighbours(comm)};
}

}  // namespace

TEST_CASE("the embedding has the rows of the whole table, and brings its gradient, for any shape") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Shape& shape : {Shape{12}, {2, 18}, {}, {0}}) {
            const at::Tensor table = filled({12, 5}, 0, 1).requires_grad_();
            const at::Tensor shard = part(table, 0, comm).clone().requires_grad_();
            const at::Tensor ids = words(shape);
            INFO("words of shape " << at::IntArrayRef(shape));
            const at::Tensor expected = at::embedding(table, ids);
            loss_of(expected).backward();
            const at::Tensor rows = vocab_parallel_embedding(ids, shard, comm);
            loss_of(rows).backward();
            CHECK(equal(rows, expected));
            INFO("the gradient of this rank's rows of the table");
            CHECK(equal(shard.grad(), part(table.grad(), 0, comm)));
        }
    });
}

TEST_CASE("the embedding costs one all-reduce, and its backward nothing") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const at::Tensor shard = part(filled({12, 5}, 0, 1), 0, comm).clone().requires_grad_();
        at::Tensor rows;
        const Traffic there =
            record(comm, [&] { rows = vocab_parallel_embedding(words({12}), shard, comm); });
        const Traffic back = record(comm, [&] { loss_of(rows).backward(); });
        CHECK(within(there, all_reduces(1, 1, 60, comm)));
        INFO("backward: each rank has the gradient of all rows already");
        CHECK(back.messages_sent == 0);
    });
}

TEST_CASE("loss and gradient are those of one process, for any shape, with a target on each rank") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const Shape& shape : {Shape{12}, {2, 18}, {}, {0}}) {
            INFO("tokens of shape " << at::IntArrayRef(shape));
            Tokens(shape).train_as_one(comm);
        }
    });
}

TEST_CASE("logits and targets may lie in memory in any way, on each rank in another one") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (std::size_t shift = 0; shift < 3; ++shift) {
            const Layout layout = kLayouts[(shift + static_cast<std::size_t>(comm.rank())) % 3];
            INFO("this rank's logits lie " << name_of(layout));
            Tokens({2, 6}).train_as_one(comm, layout);
        }
        INFO("the first six tokens have the same memory as the others");
        Tokens tokens({2, 6});
        tokens.logits = laid_out(tokens.logits, Layout::expanded);
        tokens.train_as_one(comm, Layout::expanded);
    });
}

TEST_CASE("logits far from 0 give what they have to: +-10000 on any rank, all alike, and far apart"
) {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (std::int64_t word = 0; word < 12; ++word) {
            for (const float far : {1e4F, -1e4F}) {
                Tokens tokens({12});
                tokens.logits.select(-1, word).fill_(far);
                INFO("logits from -8 to 8, and " << far << " for word " << word << " of 12");
                tokens.train_as_one(comm);
            }
        }
        for (const float far : {1e4F, -1e4F}) {
            Tokens tokens({12});
            tokens.logits.add_(far);
            INFO("logits from -8 to 8, and to each " << far << " is added");
            tokens.train_as_one(comm);
        }
    });
}

TEST_CASE("words that cannot come have logits of -infinity: one, or all of a rank") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const float never = -std::numeric_limits<float>::infinity();
        for (const std::int64_t count : {1, 12 / comm.size()}) {
            for (const std::int64_t first : {std::int64_t{0}, 12 - count}) {
                Tokens tokens({12});
                tokens.targets = words({12}, first, count);
                tokens.logits.narrow(-1, first, count).fill_(never);
                INFO("words " << first << " to " << first + count - 1 << " of 12 cannot come");
                tokens.train_as_one(comm);
            }
        }
    });
}

TEST_CASE("the loss costs three all-reduces of a float for each token, and its backward nothing") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const Tokens tokens({2, 18});
        const at::Tensor logits = tokens.part_of_logits(comm);
        at::Tensor losses;
        const Traffic there = record(comm, [&] {
            losses = vocab_parallel_cross_entropy(logits, tokens.targets, comm);
        });
        const Traffic back = record(comm, [&] { losses.sum().backward(); });
        INFO("36 tokens: is there more in the messages than three floats of each?");
        CHECK(within(there, all_reduces(2, 3, 36, comm)));
        INFO("backward: each rank has all that the gradient of its logits needs");
        CHECK(back.messages_sent == 0);
    });
}

TEST_CASE("the loss holds softmax beside the logits, and makes the gradient in its place") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        constexpr std::int64_t kTokens = 64;
        constexpr std::int64_t kOwn = 10'000;
        constexpr std::size_t kBytes = kTokens * kOwn * sizeof(float);
        const at::Tensor targets = at::full({kTokens}, 1, at::kLong);
        const at::Tensor logits = at::full({kTokens, kOwn}, 1, at::kFloat).requires_grad_();
        const MemoryBefore before;
        forget_peak();
        at::Tensor loss = vocab_parallel_cross_entropy(logits, targets, comm).sum();
        const std::size_t forward = before.peak_since();
        forget_peak();
        loss.backward();
        const std::size_t backward = before.peak_since();
        INFO("bytes at most, beside the logits: is there a second tensor of softmax's size?");
        CHECK(forward <= kBytes + kBytes / 10);
        CHECK(backward <= kBytes + kBytes / 10);
    });
}

TEST_CASE("logits stay as they are, and need no gradient") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tokens tokens({2, 6});
        for (const bool recorded : {true, false}) {
            const at::AutoGradMode mode(recorded);
            const at::Tensor logits = tokens.part_of_logits(comm).requires_grad_(!recorded);
            const auto kept = as_now({logits, tokens.targets});
            const at::Tensor losses = vocab_parallel_cross_entropy(logits, tokens.targets, comm);
            CHECK(kept());
            CHECK_FALSE(losses.requires_grad());
            INFO((recorded ? "logits that need no gradient" : "autograd is off"));
            CHECK(same(elements(losses), elements(tokens.expected().losses), Tokens::kTolerance));
        }
    });
}

TEST_CASE("words and targets outside of the vocabulary are refused on all ranks, and another shape"
) {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const at::Tensor shard = part(filled({12, 5}, 0, 1), 0, comm).clone();
        const at::Tensor logits = Tokens({12}).part_of_logits(comm).detach();
        for (const std::int64_t word : {std::int64_t{12}, std::int64_t{-1}}) {
            const at::Tensor ids = words({12});
            ids.select(0, 7).fill_(word);
            const std::string what = text("word ", word, " of 12");
            refuses(comm, what, [&] { vocab_parallel_embedding(ids, shard, comm); });
            refuses(comm, what + " as a target", [&] {
                vocab_parallel_cross_entropy(logits, ids, comm);
            });
        }
        for (const Shape& shape : {Shape{11}, {12, 1}, {}}) {
            refuses(comm, "targets of another shape than tokens", [&] {
                vocab_parallel_cross_entropy(logits, words(shape), comm);
            });
        }
        refuses(comm, "logits without dimensions", [&] {
            vocab_parallel_cross_entropy(at::empty({}), words({}), comm);
        });
    });
}

TEST_CASE("a message that fails comes out of both") {
    reports_failures([](const Communicator& comm) {
        vocab_parallel_embedding(words({12}), part(filled({12, 5}, 0, 1), 0, comm), comm);
    });
    reports_failures([](const Communicator& comm) {
        const Tokens tokens({12});
        vocab_parallel_cross_entropy(tokens.part_of_logits(comm), tokens.targets, comm);
    });
}

TEST_CASE("what is to be differentiated again is refused out of both") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const at::Tensor shard = part(filled({12, 5}, 0, 1), 0, comm).clone().requires_grad_();
        const Tokens tokens({12});
        const at::Tensor logits = tokens.part_of_logits(comm);
        const at::Tensor rows = vocab_parallel_embedding(words({12}), shard, comm);
        const at::Tensor losses = vocab_parallel_cross_entropy(logits, tokens.targets, comm);
        {
            INFO("the embedding");
            CHECK(is_refused_again(rows, shard));
        }
        INFO("the loss");
        CHECK(is_refused_again(losses, logits));
    });
}

TEST_CASE("two losses that are alive at a time know nothing of each other") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tokens tokens[] = {Tokens({4}), Tokens({4}, 10)};
        at::Tensor logits[2];
        at::Tensor losses[2];
        for (int i = 0; i < 2; ++i) {
            logits[i] = tokens[i].part_of_logits(comm);
            losses[i] = vocab_parallel_cross_entropy(logits[i], tokens[i].targets, comm);
        }
        for (int i = 0; i < 2; ++i) {
            losses[i].mul(tokens[i].upstream()).sum().backward();
            INFO("loss " << i << ": do they share what each should have for itself?");
            CHECK(tokens[i].is_gradient(logits[i].grad(), comm));
        }
    });
}
