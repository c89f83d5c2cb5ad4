// Rows of memory that parameters and gradients lie in, and what backward tells of them.
#include "course/nn/rows.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <functional>
#include <malloc.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "course/nn/gradient_row.hpp"
#include "course/nn/memory.hpp"
#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::nn;

namespace {

/// What malloc says that it has given out: of its heaps, and beside them. (What the system counts as resident is no
/// measure: malloc may keep what was freed, and give it out again.)
std::size_t given_out() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

}  // namespace

TEST_CASE("bytes that are counted are those that malloc has given out", "[nn]") {
    count_memory();
    constexpr std::int64_t kN = 32 << 20;  // 128 MB
    const std::size_t before = given_out();
    const std::size_t held = held_memory().total();
    const auto agree = [&] {
        constexpr double kOfOthers = 1e6;  // strings, threads
        const double counted = static_cast<double>(held_memory().total() - held);
        const double given = static_cast<double>(given_out()) - static_cast<double>(before);
        CHECK(std::abs(given - counted) < kOfOthers);
    };
    at::Tensor row = at::ones({kN});
    CHECK(held_memory().total() - held == 4 * kN);
    agree();
    free_storage(row);
    CHECK(held_memory().total() == held);
    agree();
    alloc_storage(row);
    row.fill_(1);
    agree();
    row.reset();
    agree();
}

TEST_CASE("the memory of a row comes and goes below its views", "[nn]") {
    const at::Tensor row = at::ones({6});
    const at::Tensor view = row.narrow(0, 2, 4).view({2, 2});
    CHECK(has_storage(row));
    free_storage(row);
    free_storage(row);  // twice is as good as once
    CHECK_FALSE(has_storage(row));
    CHECK(view.sizes() == std::vector<std::int64_t>{2, 2});
    alloc_storage(row);
    floats(row)[3] = 7;
    alloc_storage(row);  // leaves what is there
    CHECK(view[0][1].item<float>() == 7);
    CHECK(floats(row).size() == 6);
    const at::Tensor nothing = at::ones({0});
    free_storage(nothing);
    CHECK(has_storage(nothing));
}

TEST_CASE("what cannot be trained in rows is refused by number, and why", "[nn]") {
    const at::Tensor good = at::ones({2}).requires_grad_();
    CHECK_NOTHROW(expect_trainable(std::vector{good, at::ones({2}).requires_grad_()}, "Zero"));
    const auto refused = [&](const at::Tensor& other, const std::string& why) {
        const auto call = [&] { expect_trainable(std::vector{good, other}, "Zero"); };
        CHECK(error_text(call) == "Zero: parameter 1 " + why);
    };
    refused(good, "is parameter 0 once more");
    refused(good.mul(2), "is no leaf");
    refused(at::ones({2}), "requires no gradient: it is frozen");
    refused(at::ones({2}, at::kDouble).requires_grad_(), "is not in float32");
}

TEST_CASE("a row of gradients is there from the first that comes until it is released", "[nn]") {
    count_memory();
    const std::vector<at::Tensor> parameters = {
        at::ones({2, 2}).requires_grad_(), at::ones({}).requires_grad_(),
        at::ones({0}).requires_grad_()};
    parameters[0].mutable_grad() = at::ones({2, 2});
    GradientRow row(parameters, 8);
    CHECK_FALSE(parameters[0].grad().defined());
    const std::size_t before = held_memory().total();
    const auto come = [&](std::size_t k, double value) {
        parameters[k].mutable_grad() = at::full(parameters[k].sizes(), value, at::kFloat);
        row.take(k, 0.5);
        CHECK_FALSE(parameters[k].grad().defined());
    };
    for (int pass = 0; pass < 2; ++pass) {
        CHECK(held_memory().total() == before);
        come(1, 4);
        CHECK(held_memory().total() == before + 32);
        CHECK_FALSE(row.is_full());
        come(2, 1);
        come(0, 6);
        CHECK(row.is_full());
        CHECK(at::equal(row.release(), at::tensor({3.F, 3.F, 3.F, 3.F, 2.F, 0.F, 0.F, 0.F})));
        CHECK_FALSE(row.is_full());
    }
    come(0, 8);
    row.clear();
    CHECK(held_memory().total() == before);
    CHECK(at::equal(row.release(), at::zeros({8})));
}

TEST_CASE("a function is called once when backward has ended, and throws out of it", "[nn]") {
    const at::Tensor first = at::ones({2}).requires_grad_();
    const at::Tensor second = at::ones({2}).requires_grad_();
    std::string calls;
    bool throws = false;
    const GradientHook hook(second, [&] {
        calls += 's';
        at_end_of_backward([&] {
            calls += 'e';
            if (throws) {
                throw std::runtime_error("at the end");
            }
        });
    });
    const GradientHook other(first, [&] { calls += 'f'; });
    const auto backward = [&] { first.mul(1).sum().add(second.mul(1).sum()).backward(); };
    backward();
    CHECK(calls == "sfe");
    backward();
    CHECK(calls == "sfesfe");
    throws = true;
    CHECK(error_text(backward) == "at the end");
    throws = false;
    CHECK_NOTHROW(backward());
}
