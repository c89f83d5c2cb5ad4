// What gradient_buckets must do: PyTorch's plan for any shapes and limits, and gradients that lie in one row.
#include "exercises/06_ddp/gradient_buckets.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include <torch/version.h>

#include "course/runtime/seeded.hpp"
#include "tests/06_ddp/backward.hpp"

// PyTorch's own, of torch/csrc/distributed/c10d/reducer.hpp, which not every package can include
namespace c10d {
class Logger;
#if TORCH_VERSION_MAJOR >= 2
using NoLogger = std::optional<std::weak_ptr<Logger>>;
#else
using NoLogger = c10::optional<std::weak_ptr<Logger>>;
#endif
std::tuple<std::vector<std::vector<std::size_t>>, std::vector<std::size_t>>
compute_bucket_assignment_by_size(
    const std::vector<at::Tensor>& tensors,
    const std::vector<std::size_t>& limits,
    const std::vector<bool>& sparse,
    const std::vector<std::int64_t>& numbers,
    const NoLogger& logger
);
}  // namespace c10d

using namespace dist;
using namespace dist::harness;

namespace {

/// Parameters of so many floats each, or doubles where the number is negative.
std::vector<at::Tensor> model(const std::vector<std::int64_t>& lengths) {
    std::vector<at::Tensor> parameters;
    for (const std::int64_t n : lengths) {
        const at::Tensor values = at::full({n < 0 ? -n : n}, 0.5, n < 0 ? at::kDouble : at::kFloat);
        parameters.push_back(values.requires_grad_());
    }
    return parameters;
}

/// Whether these are the buckets, in the model's order backwards unless another one is given.
Comparison plans(
    const std::vector<std::int64_t>& lengths,
    const Sizes& limits,
    const std::vector<Bucket>& expected,
    std::optional<Sizes> order = {}
) {
    const auto parameters = model(lengths);
    const Sizes comes = order ? *order : backwards(lengths.size());
    const auto got = gradient_buckets(parameters, comes, limits);
    return {got == expected, "expected " + text_of(expected) + ", got " + text_of(got)};
}

/// A random model of four dtypes, two of them of 2 bytes; an order; limits.
struct Case {
    std::vector<at::Tensor> parameters;
    Sizes order;
    Sizes limits;
};

Case random_case(std::uint64_t seed) {
    std::uint64_t i = 0;
    const auto random = [&](std::uint64_t below) { return seeded_bits(seed, i++) % below; };
    constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
    Case one{{}, backwards(1 + random(24)), Sizes(1 + random(3))};
    while (one.parameters.size() < one.order.size()) {
        const auto n = static_cast<std::int64_t>(random(40));
        one.parameters.push_back(at::full({n}, 0.5, kDtypes[random(4)]).requires_grad_());
    }
    for (std::size_t k = one.order.size() - 1; k > 0; --k) {
        std::swap(one.order[k], one.order[random(k + 1)]);
    }
    for (std::size_t& limit : one.limits) {
        limit = 1 + random(200);
    }
    return one;
}

std::vector<Bucket> pytorchs(const Case& one) {
    std::vector<at::Tensor> tensors;
    for (const std::size_t i : one.order) {
        tensors.push_back(one.parameters[i]);
    }
    const std::vector<bool> sparse(tensors.size(), false);
    return std::get<0>(c10d::compute_bucket_assignment_by_size(
        tensors, one.limits, sparse, {one.order.begin(), one.order.end()}, {}
    ));
}

/// The same buckets, those that are full first, in the order in which they were; then those that are not.
std::vector<Bucket> in_order(std::vector<Bucket> buckets, const Case& one) {
    const auto place = [&](std::size_t i) {
        return static_cast<std::size_t>(std::ranges::find(one.order, i) - one.order.begin());
    };
    std::ranges::sort(buckets, {}, [&](const Bucket& bucket) { return place(bucket.front()); });
    std::map<at::ScalarType, std::size_t> closed;
    std::map<std::size_t, Bucket> by_time;
    for (const Bucket& bucket : buckets) {
        std::size_t size_bytes = 0;
        for (const std::size_t i : bucket) {
            size_bytes += one.parameters[i].nbytes();
        }
        std::size_t& number = closed[one.parameters[bucket.front()].scalar_type()];
        const bool is_full = size_bytes >= one.limits[std::min(number++, one.limits.size() - 1)];
        const std::size_t time =
            is_full ? place(bucket.back()) : one.order.size() + place(bucket.front());
        by_time[time] = bucket;
    }
    std::vector<Bucket> ordered;
    for (const auto& [time, bucket] : by_time) {
        ordered.push_back(bucket);
    }
    return ordered;
}

/// The gradient `values`, of the parameter's shape.
void set_gradient(const at::Tensor& parameter, const at::Tensor& values) {
    parameter.mutable_grad() = values.to(parameter.scalar_type());
}

}  // namespace

TEST_CASE("gradient_buckets closes a bucket that has reached its limit, and not before") {
    on_ranks({1}, [](const Communicator&) {
        // floats of 4 bytes
        CHECK(plans({3, 3, 3, 3}, {24}, {{3, 2}, {1, 0}}));
        CHECK(plans({3, 3, 3, 3}, {25}, {{3, 2, 1}, {0}}));
        CHECK(plans({3, 3, 3, 3}, {13}, {{3, 2}, {1, 0}}));
        CHECK(plans({1, 100, 1}, {8}, {{2, 1}, {0}}));
        CHECK(plans({0, 2, 0, 2}, {8}, {{3}, {2, 1}, {0}}));
        CHECK(plans({5}, {1'000'000}, {{0}}));
        CHECK(plans({}, {8}, {}));
    });
}

TEST_CASE("gradient_buckets takes the limits one after the other, and stays at the last") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(plans({2, 2, 2, 2, 2, 2, 2}, {8, 16}, {{6}, {5, 4}, {3, 2}, {1, 0}}));
        CHECK(plans({2, 2, 2, 2, 2, 2, 2}, {16, 8, 24}, {{6, 5}, {4}, {3, 2, 1}, {0}}));
    });
}

TEST_CASE("gradient_buckets keeps the order in which the gradients come") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(plans({2, 2, 2, 2}, {16}, {{1, 3}, {0, 2}}, Sizes{1, 3, 0, 2}));
        CHECK(plans({2, 2, 2, 2}, {16}, {{0, 1}, {2, 3}}, Sizes{0, 1, 2, 3}));
    });
}

TEST_CASE("gradient_buckets puts one dtype into a bucket, each with limits of its own") {
    on_ranks({1}, [](const Communicator&) {
        // -n: n doubles of 8 bytes
        CHECK(plans({2, -1, 2, -1}, {16}, {{3, 1}, {2, 0}}));
        CHECK(plans({2, -2, 2, 2, -1}, {8, 16}, {{4}, {3}, {1}, {2, 0}}));
        CHECK(plans({1, -1, 1, -1}, {1000}, {{3, 1}, {2, 0}}));
        CHECK(plans({-1, 1, -1, 1}, {1000}, {{3, 1}, {2, 0}}));
    });
}

TEST_CASE("gradient_buckets makes PyTorch's plan, for any shapes, dtypes, orders and limits") {
    on_ranks({1}, [](const Communicator&) {
        for (std::uint64_t seed = 0; seed < 500; ++seed) {
            const Case one = random_case(seed);
            // what is not full comes in no particular order from PyTorch
            const auto expected = in_order(pytorchs(one), one);
            const auto got = gradient_buckets(one.parameters, one.order, one.limits);
            const std::string both = "PyTorch: " + text_of(expected) + ", yours: " + text_of(got);
            const Comparison agrees{got == expected, both};
            INFO(
                "float, double, half and bfloat16; what is not full stands where its first one "
                "comes"
            );
            REQUIRE(agrees);
        }
    });
}

TEST_CASE("gradient_buckets counts bytes, and takes limits, that 32 bits do not hold") {
    on_ranks({1}, [](const Communicator&) {
        const std::size_t two_gib = std::size_t{1} << 31U;
        const auto large = at::empty({static_cast<std::int64_t>(two_gib / 4)}, at::kMeta);
        const std::vector<at::Tensor> parameters(5, large);
        const auto plan = [&](std::size_t limit) {
            return text_of(gradient_buckets(parameters, backwards(5), Sizes{limit}));
        };
        INFO("parameters of 2^31 bytes each, on a device without memory");
        CHECK(plan(2 * two_gib) == "{4 3} {2 1} {0}");
        CHECK(plan(2 * two_gib + 1) == "{4 3 2} {1 0}");
    });
}

TEST_CASE("gradient_buckets refuses an order that leaves one out, or has one twice, and limits of 0"
) {
    on_ranks({1}, [](const Communicator&) {
        const auto parameters = model({2, 2, 2});
        for (const Sizes& order : {Sizes{0, 1}, Sizes{0, 1, 1}, Sizes{0, 1, 2, 0}}) {
            CHECK_THROWS_AS(gradient_buckets(parameters, order, Sizes{8}), std::invalid_argument);
        }
        for (const Sizes& limits : {Sizes{}, Sizes{0}, Sizes{8, 0}}) {
            CHECK_THROWS_AS(
                gradient_buckets(parameters, backwards(3), limits), std::invalid_argument
            );
        }
    });
}

TEST_CASE("gradient_buckets refuses an order with a number that no parameter has") {
    on_ranks({1}, [](const Communicator&) {
        const auto parameters = model({2, 2, 2});
        const CrashMeans crash("as if a number in `order` was used that no parameter has");
        for (const Sizes& order : {Sizes{0, 1, 3}, Sizes{std::size_t{1} << 32U, 1, 2}}) {
            INFO("the order " << text_of({order}) << " of three parameters");
            CHECK_THROWS_AS(gradient_buckets(parameters, order, Sizes{8}), std::invalid_argument);
        }
    });
}

TEST_CASE("flatten_gradients lays gradients side by side, in the bucket's order") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<at::Tensor> parameters;
        for (std::size_t i = 0; i < kShapes.size(); ++i) {
            parameters.push_back(at::full(kShapes[i], 0.5, at::kFloat).requires_grad_());
            set_gradient(parameters[i], filled(kShapes[i], 0, i));
        }
        // every second column of a wider tensor
        set_gradient(parameters[0], filled({4, 6}, 0, 9).slice(1, 0, 6, 2));
        const std::vector<float> columns = elements(parameters[0].grad());
        const Bucket bucket = {3, 0, 4, 2};
        const at::Tensor flat = flatten_gradients(parameters, bucket);

        std::vector<float> expected = input(30, 0, 3);
        expected.insert(expected.end(), columns.begin(), columns.end());
        expected.push_back(input(1, 0, 2)[0]);
        CHECK(flat.dim() == 1);
        CHECK(same(elements(flat), expected));
        for (const std::size_t i : bucket) {
            INFO("the gradient of parameter " << i);
            CHECK(parameters[i].grad().sizes() == parameters[i].sizes());
        }
        CHECK(same(elements(parameters[1].grad()), input(7, 0, 1)));  // it is in another bucket
        CHECK(same(elements(parameters[0]), std::vector<float>(12, 0.5F)));
    });
}

TEST_CASE("what is written to the flat tensor is in the gradients, and the other way round") {
    on_ranks({1}, [](const Communicator&) {
        const auto parameters = model({2, 3});
        set_gradient(parameters[0], filled({2}, {1, 2}));
        set_gradient(parameters[1], filled({3}, {3, 4, 5}));
        const at::Tensor flat = flatten_gradients(parameters, {1, 0});
        flat.mul_(10);
        INFO("gradients are views into the flat tensor, and no copies of what is in it");
        CHECK(same(elements(parameters[0].grad()), std::vector<float>{10, 20}));
        CHECK(same(elements(parameters[1].grad()), std::vector<float>{30, 40, 50}));
        parameters[0].square().sum().backward();  // adds 2 x 0.5 to each
        CHECK(same(elements(flat), std::vector<float>{30, 40, 50, 11, 21}));
    });
}

TEST_CASE("flatten_gradients moves every bit: zeros with a sign, infinities, each kind of NaN") {
    on_ranks({1}, [](const Communicator&) {
        // of bfloat16 and half: -0, infinity, NaNs with and without a sign; and a number
        const std::vector<int> bits = {-0x8000, 0x7C00, 0x7F80, 0x7FC1, 0x7F81, -0x7F, 0x1234};
        for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
            const at::Tensor values = at::zeros({7}, dtype);
            const auto shorts_in_each = static_cast<std::int64_t>(values.element_size() / 2);
            const at::Tensor last_shorts =  // where sign and exponent are
                values.view(at::kShort).view({7, shorts_in_each}).select(1, shorts_in_each - 1);
            for (std::int64_t i = 0; i < 7; ++i) {
                last_shorts[i] = bits[static_cast<std::size_t>(i)];
            }
            const std::vector parameters = {at::zeros({7}, dtype).requires_grad_()};
            parameters[0].mutable_grad() = values;
            const at::Tensor flat = flatten_gradients(parameters, {0});
            const auto of = [](const at::Tensor& tensor) {
                return elements(tensor.view(at::kShort).to(at::kFloat));
            };
            INFO("gradients as numbers of 2 bytes, -0 first: are they added to zeros?");
            CHECK(same(of(flat), of(values)));
        }
    });
}

TEST_CASE("each flat tensor is its own, and is gone when nobody holds it or its gradients") {
    on_ranks({1}, [](const Communicator&) {
        const auto one = model({2, 1});
        const auto other = model({2, 1});
        const auto flatten = [](const std::vector<at::Tensor>& parameters, float value) {
            set_gradient(parameters[0], filled({2}, {value, value}));
            set_gradient(parameters[1], filled({1}, {value}));
            return flatten_gradients(parameters, {0, 1});
        };
        const at::Tensor first = flatten(one, 1);
        const at::Tensor others = flatten(other, 2);
        const at::Tensor second = flatten(one, 3);
        INFO("three calls, two of them for one model: all 1, 2 and 3");
        CHECK(same(elements(first), std::vector<float>(3, 1)));
        CHECK(same(elements(others), std::vector<float>(3, 2)));
        CHECK(same(elements(second), std::vector<float>(3, 3)));
        forget_gradients(one);
        forget_gradients(other);
        INFO("who holds each flat tensor when the gradients are gone: nobody but this test");
        CHECK(first.use_count() == 1);
        CHECK(others.use_count() == 1);
        CHECK(second.use_count() == 1);
    });
}

TEST_CASE(
    "flatten_gradients makes zeros of a gradient that is not there, so that backward adds to it"
) {
    on_ranks({1}, [](const Communicator&) {
        const auto parameters = model({2, 1});
        set_gradient(parameters[1], filled({1}, {7}));
        INFO("backward gives a parameter without a gradient a new tensor, outside the flat one");
        const at::Tensor flat = flatten_gradients(parameters, {0, 1});
        CHECK(same(elements(flat), std::vector<float>{0, 0, 7}));
        CHECK(parameters[0].grad().defined());
        parameters[0].sum().backward();
        CHECK(same(elements(flat), std::vector<float>{1, 1, 7}));
    });
}

TEST_CASE("flatten_gradients takes any dtype, and refuses two at once or none") {
    on_ranks({1}, [](const Communicator&) {
        const auto parameters = model({2, -2, -1});
        set_gradient(parameters[1], filled({2}, {1, 2}));
        const at::Tensor flat = flatten_gradients(parameters, {2, 1});
        CHECK(flat.scalar_type() == at::kDouble);
        CHECK(same(elements(flat.to(at::kFloat)), std::vector<float>{0, 1, 2}));
        CHECK_THROWS_AS(flatten_gradients(parameters, {0, 1}), std::invalid_argument);
        CHECK_THROWS_AS(flatten_gradients(parameters, {}), std::invalid_argument);
        INFO("what is refused leaves the gradients as they were");
        CHECK_FALSE(parameters[0].grad().defined());
    });
}

TEST_CASE("flatten_gradients makes the flat tensor where the parameters are, as on a GPU") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector parameters = {at::empty({2}, at::kMeta), at::empty({3}, at::kMeta)};
        const at::Tensor flat = flatten_gradients(parameters, {1, 0});
        INFO(
            "a device without memory, kMeta, stands for the GPU; your flat tensor is on "
            << flat.device().str()
        );
        CHECK(flat.device() == parameters[0].device());
        CHECK(flat.numel() == 5);
    });
}
