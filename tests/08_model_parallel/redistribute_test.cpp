// What redistribute must do: values and gradients of every pair of placements, for the bytes of the table.
#include "exercises/08_model_parallel/redistribute.hpp"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/08_model_parallel/parts.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Kind = Placement::Kind;
using Shape = std::vector<std::int64_t>;

constexpr Placement kReplicate = Placement::replicate();
constexpr Placement kPartial = Placement::partial();

/// Even for 1 to 4 ranks, and so is every block where two dimensions cross.
const Shape kEven = {12, 12, 12};

/// p divides no dimension; fewer rows than ranks; no element; one dimension; none.
const std::vector<Shape> kUneven = {{5, 7}, {2, 9, 3}, {0, 5}, {7}, {}};

std::string name_of(Placement placement) {
    return placement.kind == Kind::replicate ? "replicate"
           : placement.kind == Kind::partial ? "partial"
                                             : text("shard(", placement.dim, ")");
}

/// Calls f(from, to) for all pairs of placements.
void for_all_ways(const Shape& shape, const std::function<void(Placement, Placement)>& f) {
    std::vector<Placement> all = {kReplicate, kPartial};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        all.push_back(Placement::shard(static_cast<std::int64_t>(d)));
    }
    for (const Placement& from : all) {
        for (const Placement& to : all) {
            INFO(
                "from " << name_of(from) << " to " << name_of(to) << ", of (" << text(shape) << ")"
            );
            f(from, to);
        }
    }
}

/// As for_all_ways(), with each placement that the gradient of the result may have; the one that it has where nothing
/// is said comes first.
void for_all_ways_back(
    const Shape& shape, const std::function<void(Placement, Placement, Placement)>& f
) {
    for_all_ways(shape, [&](Placement from, Placement to) {
        const bool cut = to.kind == Kind::shard;
        for (const Placement back : cut ? std::vector{to} : std::vector{kReplicate, kPartial}) {
            INFO("the result's gradient is " << name_of(back));
            f(from, to, back);
        }
    });
}

/// The placement of a tensor's gradient.
Placement home_of(Placement from) {
    return from.kind == Kind::shard ? from : kReplicate;
}

/// Rank i's part of what is cut into p shards; all of what is not.
at::Tensor slice(const at::Tensor& whole, Placement placement, int p, int i) {
    if (placement.kind != Kind::shard) {
        return whole;
    }
    const auto n = static_cast<std::size_t>(whole.size(placement.dim));
    const Chunk chunk = chunk_bounds(n, p, i);
    return whole.narrow(
        placement.dim, static_cast<std::int64_t>(chunk.begin),
        static_cast<std::int64_t>(chunk.size())
    );
}

/// A tensor of whole numbers, the sum of a summand of each rank.
struct Whole {
    Whole(at::IntArrayRef shape, std::uint64_t salt, const Communicator& comm)
        : p(comm.size()), r(comm.rank()), summand(filled(shape, r, salt)), sum(at::zeros(shape)) {
        for (int i = 0; i < p; ++i) {
            sum.add_(filled(shape, i, salt));
        }
    }

    /// What this rank holds of it.
    [[nodiscard]] at::Tensor part(Placement placement) const {
        const at::Tensor& cut = placement.kind == Kind::partial ? summand : sum;
        return slice(cut, placement, p, r).clone(at::MemoryFormat::Contiguous);
    }

    /// What this rank holds of it after it was moved.
    [[nodiscard]] at::Tensor moved(Placement from, Placement to) const {
        if (to.kind != Kind::partial || from.kind == Kind::partial) {
            return part(to);
        }
        at::Tensor held = at::zeros(sum.sizes());
        if (from.kind == Kind::shard || r == 0) {
            slice(held, from, p, r).copy_(slice(sum, from, p, r));
        }
        return held;
    }

    int p, r;
    at::Tensor summand;
    at::Tensor sum;
};

/// Is this rank's result right?
Comparison is_moved(const at::Tensor& got, const Whole& whole, Placement from, Placement to) {
    const at::Tensor expected = whole.moved(from, to);
    return equal(
        got, expected,
        {{whole.summand, "that is this rank's own summand: nothing was added to it"},
         {whole.sum, "that is the whole, and every rank has it: their sum is p times the whole"},
         {expected.div(whole.p), "that is a p-th of it"}}
    );
}

/// Is the gradient of what was moved right? The whole's gradient is `gradient`.
Comparison is_gradient(const at::Tensor& got, const Whole& gradient, Placement from) {
    const at::Tensor expected = gradient.part(home_of(from));
    return equal(
        got, expected,
        {{expected.mul(gradient.p),
          "that is p times the gradient: each rank has the whole of it, and they were added up"},
         {expected.div(gradient.p), "that is a p-th of the gradient"},
         {gradient.summand, "that is this rank's part of the sum alone"}}
    );
}

/// What the header's table says of one way; where p divides all sizes, to the byte.
Cost cost_of(Placement from, Placement to, const Shape& shape, int p) {
    if (from.kind == Kind::replicate || to.kind == Kind::partial || from == to) {
        return {.messages_sent = exactly(0)};
    }
    const at::Tensor whole = at::zeros(shape);
    long messages = p - 1;
    long floats = slice(slice(whole, from, p, 0), to, p, 0).numel();  // rank 0's is the largest
    if (from.kind == Kind::partial && to.kind == Kind::replicate) {
        messages = 2L * (p - 1);
        floats = ceil_div(count(whole), p);
    }
    const long bytes = messages * floats * long{sizeof(float)};
    return {
        .messages_sent = at_most(messages),
        .bytes_sent = shape == kEven ? exactly(bytes) : at_most(bytes)};
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

/// Values of all pairs, forward.
void moves(const Shape& shape, const Communicator& comm) {
    const Whole whole(shape, 1, comm);
    for_all_ways(shape, [&](Placement from, Placement to) {
        CHECK(is_moved(redistribute(whole.part(from), from, to, shape, comm), whole, from, to));
    });
}

/// Gradients of all pairs, whatever that of the result is.
void goes_back(const Shape& shape, const Communicator& comm) {
    const Whole whole(shape, 1, comm);
    const Whole gradient(shape, 2, comm);
    for_all_ways_back(shape, [&](Placement from, Placement to, Placement back) {
        const at::Tensor local = whole.part(from).requires_grad_();
        const auto said = back == home_of(to) ? std::nullopt : std::optional(back);
        const at::Tensor result = redistribute(local, from, to, shape, comm, said);
        result.backward(gradient.part(back));
        CHECK(is_gradient(local.grad(), gradient, from));
    });
}

void costs_as_the_table_says(const Shape& shape, const Communicator& comm) {
    const int p = comm.size();
    const Whole whole(shape, 1, comm);
    for_all_ways_back(shape, [&](Placement from, Placement to, Placement back) {
        const at::Tensor local = whole.part(from).requires_grad_();
        const at::Tensor gradient = whole.part(back);
        at::Tensor result;
        const Traffic forward =
            record(comm, [&] { result = redistribute(local, from, to, shape, comm, back); });
        const Traffic backward = record(comm, [&] { result.backward(gradient); });
        CHECK(within(forward, cost_of(from, to, shape, p)));
        CHECK(within(backward, cost_of(back, home_of(from), shape, p)));
    });
}

}  // namespace

TEST_CASE("redistribute moves a tensor from every placement to every other") {
    on_ranks({3, 2, 4, 1}, [](const Communicator& comm) { moves(kEven, comm); });
}

TEST_CASE("redistribute takes the gradient from every placement back to where the tensor was") {
    on_ranks({3, 2, 4, 1}, [](const Communicator& comm) { goes_back(kEven, comm); });
}

TEST_CASE("gradient_of keeps a shard, and is replicated for what has the whole's shape") {
    on_ranks({1}, [](const Communicator&) {
        CHECK((gradient_of(Placement::shard(3)) == Placement::shard(3)));
        CHECK((gradient_of(kReplicate) == kReplicate));
        INFO("the gradient of a sum is the same for each summand");
        CHECK((gradient_of(kPartial) == kReplicate));
    });
}

TEST_CASE("forward and backward send what the table says, to the byte") {
    on_ranks({3, 2, 4, 1}, [](const Communicator& comm) { costs_as_the_table_says(kEven, comm); });
}

TEST_CASE("p need not divide the sizes, and a rank may have nothing") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        for (const Shape& shape : kUneven) {
            moves(shape, comm);
            goes_back(shape, comm);
        }
        costs_as_the_table_says(kUneven[0], comm);
    });
}

TEST_CASE("local and its gradient may lie in memory in any way") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Shape shape = {5, 6};
        // all rows are equal, so that an expanded tensor repeats its first row rightly
        Whole whole(shape, 1, comm);
        for (at::Tensor* const tensor : {&whole.summand, &whole.sum}) {
            *tensor = tensor->narrow(0, 0, 1).expand(shape);
        }
        for (std::size_t i = 0; i < std::size(kLayouts); ++i) {
            const auto shift = static_cast<std::size_t>(comm.rank());
            const Layout layout = kLayouts[(i + shift) % std::size(kLayouts)];
            for_all_ways(shape, [&](Placement from, Placement to) {
                INFO("it is " << name_of(layout) << ", and on each rank in another way");
                const at::Tensor local = laid_out(whole.part(from), layout).requires_grad_();
                const at::Tensor result = redistribute(local, from, to, shape, comm);
                CHECK(is_moved(result, whole, from, to));
                result.backward(laid_out(whole.part(home_of(to)), layout));
                INFO("and so is the result's gradient");
                CHECK(is_gradient(local.grad(), whole, from));
            });
        }
    });
}

TEST_CASE("the result has memory of its own, exactly as much as it needs, and local stays") {
    on_ranks({2, 3, 1}, [](const Communicator& comm) {
        const Whole whole(kEven, 1, comm);
        for_all_ways(kEven, [&](Placement from, Placement to) {
            const at::Tensor local = whole.part(from);
            const auto as_before = as_now({local});
            const at::Tensor result = redistribute(local, from, to, kEven, comm);
            CHECK(as_before());
            if (from == to) {
                INFO("nothing changes: no element is copied");
                CHECK(result.data_ptr() == local.data_ptr());
                return;
            }
            CHECK(result.data_ptr() != local.data_ptr());
            CHECK(result.is_contiguous());
            INFO("bytes of the memory that it holds: is it a view of something larger?");
            CHECK(result.storage().nbytes() == result.nbytes());
        });
    });
}

TEST_CASE("redistribute has a second derivative") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Shape shape = {4, 3};
        const Whole whole(shape, 1, comm);
        const Whole first(shape, 2, comm);
        const Whole second(shape, 3, comm);
        Whole expected(shape, 4, comm);
        expected.sum = first.sum.mul(second.sum).mul(2);
        for_all_ways(shape, [&](Placement from, Placement to) {
            if (to.kind == Kind::partial) {
                return;  // of summands no square is taken
            }
            const at::Tensor local = whole.part(from).requires_grad_();
            const at::Tensor result = redistribute(local, from, to, shape, comm);
            const at::Tensor square = result.mul(result).mul(first.part(to)).sum();
            const at::Tensor once =
                torch::autograd::grad({square}, {local}, {}, true, /*create_graph=*/true)[0];
            INFO("of the sum of a x^2, the derivative of the sum of b times its derivative: 2 a b");
            REQUIRE(once.requires_grad());
            once.mul(second.part(home_of(from))).sum().backward();
            CHECK(is_gradient(local.grad(), expected, from));
        });
    });
}

TEST_CASE("redistribute records nothing for backward where nobody asks for a gradient") {
    on_ranks({2}, [](const Communicator& comm) {
        const auto shard = Placement::shard(1);
        const at::Tensor local = Whole(kEven, 1, comm).part(shard);
        CHECK_FALSE(redistribute(local, shard, kReplicate, kEven, comm).requires_grad());
        local.requires_grad_();
        const c10::AutoGradMode off(false);
        CHECK_FALSE(redistribute(local, shard, kReplicate, kEven, comm).requires_grad());
    });
}

TEST_CASE("redistribute refuses what does not fit, before anything is sent") {
    on_ranks({2, 3, 1}, [](const Communicator& comm) {
        const at::Tensor all = Whole(kEven, 1, comm).sum;
        const auto refused = [&](const std::string& what, const at::Tensor& local, Placement from,
                                 Placement to, std::optional<Placement> gradient = {}) {
            const auto call = [&] { redistribute(local, from, to, kEven, comm, gradient); };
            refuses(comm, what, call, as_now({local}));
        };
        const Placement cut = Placement::shard(0);
        const at::Tensor short_shard = all.narrow(0, 0, 12 / comm.size() - 1);
        refused("to shard(3), of three dimensions", all, kPartial, Placement::shard(3));
        refused("to shard(-1)", all, kPartial, Placement::shard(-1));
        refused("from shard(3), of three dimensions", all, Placement::shard(3), kReplicate);
        refused("a tensor of another shape", all.narrow(0, 0, 1), kPartial, kReplicate);
        refused("a shard that lacks a row", short_shard, cut, kReplicate);
        refused("a tensor of fewer dimensions", all[0], kPartial, cut);
        refused("double", all.to(at::kDouble), kPartial, kReplicate);
        refused("an undefined tensor", at::Tensor(), kPartial, kReplicate);
        refused("a shard whose gradient is partial", all, kPartial, cut, kPartial);
        refused("a shard whose gradient is another", all, kPartial, cut, Placement::shard(1));
        refused("a whole whose gradient is a shard", all, kPartial, kReplicate, cut);
    });
}

TEST_CASE("a message that fails comes out of redistribute and of backward") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Whole whole(kEven, 1, comm);
        const Placement cut = Placement::shard(0);
        const at::Tensor local = whole.part(kReplicate).requires_grad_();
        const at::Tensor result = redistribute(local, kReplicate, cut, kEven, comm);
        const auto backward = [&] { result.backward(whole.part(cut), /*retain_graph=*/true); };
        {
            const FailingMessages failing;
            const std::pair<Placement, Placement> ways[] = {
                {cut, kReplicate},
                {cut, Placement::shard(1)},
                {kPartial, cut},
                {kPartial, kReplicate}};
            for (const auto& way : ways) {
                INFO("from " << name_of(way.first) << " to " << name_of(way.second));
                const at::Tensor held = whole.part(way.first);
                const auto call = [&] { redistribute(held, way.first, way.second, kEven, comm); };
                CHECK(answer(comm, call).what == kError);
            }
            INFO("backward, to a replicated gradient");
            CHECK(answer(comm, backward).what == kError);
        }
        INFO("and once more, without a failure");
        backward();
        CHECK(is_gradient(local.grad(), whole, kReplicate));
    });
}

TEST_CASE("redistribute takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        INFO("two groups of two, numbered backwards");
        const Communicator group = comm.split(comm.rank() % 2, -comm.rank());
        moves({4, 3}, group);
        goes_back({4, 3}, group);
    });
}

TEST_CASE("redistribute is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        moves({13, 22}, comm);
        goes_back({13, 22}, comm);
    });
}
