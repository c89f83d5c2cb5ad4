// What redistribute must do: values and gradients of every pair of placements, for the bytes of the table.
#include "exercises/08_model_parallel/redistribute.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Kind = Placement::Kind;

using Shape = std::vector<std::int64_t>;

std::string name_of(Placement placement) {
    return placement.kind == Kind::replicate ? "replicate"
           : placement.kind == Kind::partial ? "partial"
                                             : "shard(" + std::to_string(placement.dim) + ")";
}

/// "(2, 3)"
std::string name_of(at::IntArrayRef shape) {
    std::string text;
    for (const std::int64_t size : shape) {
        text += (text.empty() ? "" : ", ") + std::to_string(size);
    }
    return "(" + text + ")";
}

/// All placements of a tensor of this shape.
std::vector<Placement> placements(const Shape& shape) {
    std::vector<Placement> all = {Placement::replicate(), Placement::partial()};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        all.push_back(Placement::shard(static_cast<std::int64_t>(d)));
    }
    return all;
}

/// Calls f(from, to) for all pairs of placements.
template <class F>
void for_all_ways(const Shape& shape, const F& f) {
    for (const Placement& from : placements(shape)) {
        for (const Placement& to : placements(shape)) {
            INFO("from " << name_of(from) << " to " << name_of(to) << ", of " << name_of(shape));
            f(from, to);
        }
    }
}

/// Rank r's slice of a dimension.
at::Tensor slice(const at::Tensor& whole, std::int64_t dim, const Communicator& comm) {
    const auto n = static_cast<std::size_t>(whole.size(dim));
    const Chunk chunk = chunk_bounds(n, comm.size(), comm.rank());
    return whole.narrow(
        dim, static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.size())
    );
}

/// A tensor of whole numbers, the sum of a summand of each rank.
struct Whole {
    Whole(at::IntArrayRef shape, std::uint64_t salt, const Communicator& ranks)
        : comm(ranks), summand(filled(shape, comm.rank(), salt)), sum(at::zeros(shape)) {
        for (int i = 0; i < comm.size(); ++i) {
            sum.add_(filled(shape, i, salt));
        }
    }

    /// What this rank holds of it.
    [[nodiscard]] at::Tensor part(Placement placement) const {
        const at::Tensor held = placement.kind == Kind::replicate ? sum
                                : placement.kind == Kind::partial ? summand
                                                                  : slice(sum, placement.dim, comm);
        return held.clone(at::MemoryFormat::Contiguous);
    }

    /// What this rank holds of it after it was moved.
    [[nodiscard]] at::Tensor moved(Placement from, Placement to) const {
        if (to.kind != Kind::partial || from.kind == Kind::partial) {
            return part(to);
        }
        at::Tensor held = at::zeros(sum.sizes());
        if (from.kind == Kind::shard) {
            slice(held, from.dim, comm).copy_(slice(sum, from.dim, comm));
        } else if (comm.rank() == 0) {
            held.copy_(sum);
        }
        return held;
    }

    const Communicator& comm;
    at::Tensor summand;
    at::Tensor sum;
};

/// As same(), of tensors: their shapes count as well.
Comparison same_tensor(
    const at::Tensor& got,
    const at::Tensor& expected,
    const std::vector<std::pair<at::Tensor, std::string>>& suspicions = {}
) {
    if (!got.defined()) {
        return {false, "it is undefined"};
    }
    if (got.sizes() != expected.sizes()) {
        return {
            false,
            "its shape is " + name_of(got.sizes()) + ", expected " + name_of(expected.sizes())};
    }
    std::vector<Suspicion> all;
    for (const auto& [tensor, sentence] : suspicions) {
        if (tensor.sizes() == expected.sizes()) {
            all.push_back({elements(tensor), sentence});
        }
    }
    return same(elements(got), elements(expected), 0.0, all);
}

/// Is this rank's result right?
Comparison is_moved(const at::Tensor& got, const Whole& whole, Placement from, Placement to) {
    return same_tensor(
        got, whole.moved(from, to),
        {{whole.summand, "that is this rank's own summand: nothing was added to it"},
         {whole.sum, "that is the whole, and every rank has it: their sum is p times the whole"},
         {whole.moved(from, to).div(whole.comm.size()), "that is a p-th of it"}}
    );
}

/// Is the gradient of what was moved right? The whole's gradient is `gradient`.
Comparison is_gradient(const at::Tensor& got, const Whole& gradient, Placement from) {
    const at::Tensor expected =
        gradient.part(from.kind == Kind::shard ? from : Placement::replicate());
    return same_tensor(
        got, expected,
        {{expected.mul(gradient.comm.size()),
          "that is p times the gradient: each rank has the whole of it, and they were added up"},
         {expected.div(gradient.comm.size()), "that is a p-th of the gradient"},
         {gradient.summand, "that is this rank's part of the sum alone"}}
    );
}

/// Even for 1 to 4 ranks, and so is every block where two dimensions cross.
const Shape kEven = {12, 12, 12};

/// Messages and floats that a rank may send for one way: what the header's table says.
struct Sent {
    long messages = 0;
    long floats = 0;
};

Sent sent_at_most(Placement from, Placement to, const Shape& shape, int p) {
    const auto size = [&](std::int64_t d) {
        return static_cast<std::size_t>(shape[static_cast<std::size_t>(d)]);
    };
    long all = 1;
    for (const std::int64_t n : shape) {
        all *= n;
    }
    const auto largest = [&](long n, std::int64_t dim) {
        return n == 0 ? 0 : n / static_cast<long>(size(dim)) * ceil_div(size(dim), p);
    };
    const bool sends = from.kind != Kind::replicate && to.kind != Kind::partial && from != to;
    if (!sends) {
        return {};
    }
    if (from.kind == Kind::partial && to.kind == Kind::replicate) {
        return {2L * (p - 1), 2 * (p - 1) * ceil_div(static_cast<std::size_t>(all), p)};
    }
    long block = all;
    for (const Placement& placement : {from, to}) {
        block = placement.kind == Kind::shard ? largest(block, placement.dim) : block;
    }
    return {p - 1, (p - 1) * block};
}

/// Does one way cost what the table says? Exactly, where p divides all sizes.
Comparison costs(const Traffic& traffic, Placement from, Placement to, const Shape& shape, int p) {
    const auto [messages, floats] = sent_at_most(from, to, shape, p);
    const long bytes = float_bytes(static_cast<std::size_t>(floats));
    return within(
        traffic, {.messages_sent = at_most(messages),
                  .bytes_sent = shape == kEven ? exactly(bytes) : at_most(bytes)}
    );
}

/// Has the tensor memory of its own, exactly as much as it needs?
Comparison stands_alone(const at::Tensor& tensor) {
    if (!tensor.is_contiguous()) {
        return {false, "it is not contiguous"};
    }
    const std::size_t bytes = tensor.storage().nbytes();
    if (bytes == tensor.nbytes()) {
        return {};
    }
    return {
        false, "its elements take " + std::to_string(tensor.nbytes()) +
                   " bytes, and it holds memory of " + std::to_string(bytes) +
                   ": is it a view of something larger?"};
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own collectives.");

constexpr Placement kReplicate = Placement::replicate();
constexpr Placement kPartial = Placement::partial();

/// p divides no dimension; fewer rows than ranks; no element; one dimension; none.
const std::vector<Shape> kUneven = {{5, 7}, {2, 9, 3}, {0, 5}, {7}, {}};

/// What the gradient of a result may be.
std::vector<Placement> gradients_of(Placement to) {
    return to.kind == Kind::shard ? std::vector{to} : std::vector{kReplicate, kPartial};
}

/// Values of all pairs, forward.
void moves(const Shape& shape, const Communicator& comm) {
    const Whole whole(shape, 1, comm);
    for_all_ways(shape, [&](Placement from, Placement to) {
        const at::Tensor result = redistribute(whole.part(from), from, to, shape, comm);
        const Comparison moved = is_moved(result, whole, from, to);
        CHECK(moved);
    });
}

/// Gradients of all pairs, whatever that of the result is.
void goes_back(const Shape& shape, const Communicator& comm) {
    const Whole whole(shape, 1, comm);
    const Whole gradient(shape, 2, comm);
    for_all_ways(shape, [&](Placement from, Placement to) {
        for (const Placement back : gradients_of(to)) {
            const at::Tensor local = whole.part(from).requires_grad_();
            const bool is_usual = back == (to.kind == Kind::shard ? to : kReplicate);
            const auto said = is_usual ? std::nullopt : std::optional(back);
            const at::Tensor result = redistribute(local, from, to, shape, comm, said);
            result.backward(gradient.part(back));
            INFO("the result's gradient is " << name_of(back));
            CHECK(is_gradient(local.grad(), gradient, from));
        }
    });
}

void costs_as_the_table_says(const Shape& shape, const Communicator& comm) {
    const int p = comm.size();
    const Whole whole(shape, 1, comm);
    for_all_ways(shape, [&](Placement from, Placement to) {
        for (const Placement back : gradients_of(to)) {
            const at::Tensor local = whole.part(from).requires_grad_();
            const at::Tensor gradient = whole.part(back);
            at::Tensor result;
            const Traffic forward =
                record(comm, [&] { result = redistribute(local, from, to, shape, comm, back); });
            const Traffic backward = record(comm, [&] { result.backward(gradient); });
            {
                INFO("forward");
                const Comparison spent = costs(forward, from, to, shape, p);
                CHECK(spent);
            }
            const Placement home = from.kind == Kind::shard ? from : kReplicate;
            INFO("backward: from " << name_of(back) << " to " << name_of(home));
            const Comparison spent = costs(backward, back, home, shape, p);
            CHECK(spent);
        }
    });
}

}  // namespace

TEST_CASE("redistribute: a placement's dim says something of shards alone") {
    on_ranks({2}, [](const Communicator& comm) {
        const at::Tensor local = at::ones({4, 2});
        const Placement other{Kind::replicate, 1};
        CHECK(other == kReplicate);
        CHECK(redistribute(local, other, kReplicate, {4, 2}, comm).equal(local));
    });
}

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
    on_ranks({3, 2, 4, 1}, [](const Communicator& comm) {
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
        for (std::size_t i = 0; i < std::size(kLayouts); ++i) {
            const auto shift = static_cast<std::size_t>(comm.rank());
            const Layout layout = kLayouts[(i + shift) % std::size(kLayouts)];
            // all rows are equal, so that an expanded tensor repeats its first row rightly
            Whole whole(shape, 1, comm);
            for (at::Tensor* const tensor : {&whole.summand, &whole.sum}) {
                *tensor = tensor->narrow(0, 0, 1).expand(shape);
            }
            for_all_ways(shape, [&](Placement from, Placement to) {
                INFO("it is " << name_of(layout) << ", and on each rank in another way");
                const at::Tensor local = laid_out(whole.part(from), layout).requires_grad_();
                const at::Tensor result = redistribute(local, from, to, shape, comm, {});
                const Comparison moved = is_moved(result, whole, from, to);
                CHECK(moved);
                const Placement back = to.kind == Kind::shard ? to : kReplicate;
                result.backward(laid_out(whole.part(back), layout));
                INFO("and so is the result's gradient");
                CHECK(is_gradient(local.grad(), whole, from));
            });
        }
    });
}

TEST_CASE("the result has memory of its own, exactly as much as it needs, and local stays") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Whole whole(kEven, 1, comm);
        for_all_ways(kEven, [&](Placement from, Placement to) {
            const at::Tensor local = whole.part(from);
            const auto as_before = as_now({local});
            const at::Tensor result = redistribute(local, from, to, kEven, comm);
            const Comparison left = as_before();
            CHECK(left);
            if (from == to) {
                INFO("nothing changes: no element is copied");
                CHECK(result.data_ptr() == local.data_ptr());
            } else {
                const Comparison alone = stands_alone(result);
                CHECK(alone);
                CHECK(result.data_ptr() != local.data_ptr());
            }
        });
    });
}

TEST_CASE("redistribute has a second derivative") {
    on_ranks({2, 3, 1}, [](const Communicator& comm) {
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
            const Placement home = from.kind == Kind::shard ? from : kReplicate;
            INFO("of the sum of a x^2, the derivative of the sum of b times its derivative: 2 a b");
            REQUIRE(once.requires_grad());
            once.mul(second.part(home)).sum().backward();
            CHECK(is_gradient(local.grad(), expected, from));
        });
    });
}

TEST_CASE("with partial gradients redistribute is what cut layers need before and after them") {
    on_ranks({2, 3, 4, 1}, [](const Communicator& comm) {
        const Shape rows = {5, 3};
        for (const Placement outside : {kReplicate, Placement::shard(0)}) {
            const Whole x(rows, 1, comm);
            const Whole w(Shape{8, 3}, 2, comm);  // cut by rows: the outputs of a linear layer
            const Whole v(Shape{3, 8}, 3, comm);  // cut by columns: the inputs of one
            const Whole gradient(rows, 4, comm);
            const at::Tensor all_x = x.part(kReplicate).requires_grad_();
            const at::Tensor all_w = w.part(kReplicate).requires_grad_();
            at::linear(at::linear(all_x, all_w).relu(), v.sum).backward(gradient.sum);

            const at::Tensor own_x = x.part(outside).requires_grad_();
            const at::Tensor own_w = w.part(Placement::shard(0)).requires_grad_();
            const at::Tensor in = redistribute(own_x, outside, kReplicate, rows, comm, kPartial);
            const at::Tensor summand =
                at::linear(at::linear(in, own_w).relu(), v.part(Placement::shard(1)));
            const at::Tensor out = redistribute(summand, kPartial, outside, rows, comm);
            out.backward(gradient.part(outside));
            INFO("a layer cut by outputs, relu, one cut by inputs; x is " << name_of(outside));
            const at::Tensor expected =
                outside == kReplicate ? all_x.grad() : slice(all_x.grad(), 0, comm);
            CHECK(same_tensor(own_x.grad(), expected));
            CHECK(same_tensor(own_w.grad(), slice(all_w.grad(), 0, comm)));
        }
    });
}

TEST_CASE("redistribute records nothing for backward where nobody asks for a gradient") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Whole whole(kEven, 1, comm);
        const auto shard = Placement::shard(1);
        CHECK_FALSE(redistribute(whole.part(shard), shard, kReplicate, kEven, comm).requires_grad()
        );
        const at::Tensor local = whole.part(shard).requires_grad_();
        const c10::AutoGradMode off(false);
        CHECK_FALSE(redistribute(local, shard, kReplicate, kEven, comm).requires_grad());
    });
}

TEST_CASE("redistribute refuses what does not fit, before anything is sent") {
    on_ranks({2, 3, 1}, [](const Communicator& comm) {
        const Whole whole(kEven, 1, comm);
        const auto refused = [&](const std::string& what, const at::Tensor& local, Placement from,
                                 Placement to, std::optional<Placement> gradient = {}) {
            const auto call = [&] { redistribute(local, from, to, kEven, comm, gradient); };
            refuses(comm, what, call, as_now({local}));
            refuses(comm, what + ", on rank 0 alone", call, as_now({local}), {0});
        };
        const at::Tensor all = whole.sum;
        const Placement cut = Placement::shard(0);
        refused("to shard(3), of three dimensions", all, kPartial, Placement::shard(3));
        refused("to shard(4)", all, kPartial, Placement::shard(4));
        refused("to shard(-1)", all, kPartial, Placement::shard(-1));
        refused("from shard(3), of three dimensions", all, Placement::shard(3), kReplicate);
        refused("from shard(-1)", all, Placement::shard(-1), kReplicate);
        refused("a tensor of another shape", all.narrow(0, 0, 1), kPartial, kReplicate);
        refused(
            "a shard that lacks a row", all.narrow(0, 0, 12 / comm.size() - 1), cut, kReplicate
        );
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
        const Placement other = Placement::shard(1);
        using Ways = std::vector<std::pair<Placement, Placement>>;
        for (const auto& [from, to] :
             Ways{{cut, kReplicate}, {cut, other}, {kPartial, cut}, {kPartial, kReplicate}}) {
            INFO("from " << name_of(from) << " to " << name_of(to));
            const FailingMessages failing;
            const auto call = [&] { redistribute(whole.part(from), from, to, kEven, comm); };
            CHECK(answer(comm, call).what == kError);
        }
        const at::Tensor local = whole.part(kReplicate).requires_grad_();
        const at::Tensor result = redistribute(local, kReplicate, cut, kEven, comm);
        {
            INFO("backward, to a replicated gradient");
            const FailingMessages failing;
            const auto call = [&] { result.backward(whole.part(cut), /*retain_graph=*/true); };
            CHECK(answer(comm, call).what == kError);
        }
        INFO("and once more, without a failure");
        result.backward(whole.part(cut));
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
