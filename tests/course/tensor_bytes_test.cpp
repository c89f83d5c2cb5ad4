// Tensors as bytes.
#include "course/nn/tensor_bytes.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/runtime/error.hpp"
#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using dist::nn::bytes_of;
using dist::nn::tensors_of;

namespace {

std::vector<at::Tensor> zoo_of_dtypes() {
    std::vector<at::Tensor> tensors = {
        at::arange(7, at::kFloat),  at::arange(3, at::kByte),    {},
        at::arange(5, at::kDouble), at::zeros({0, 3}),           at::arange(2, at::kBFloat16),
        at::ones({2}, at::kBool),   at::full({}, -7, at::kLong), {}};
    tensors.push_back(at::arange(6, at::kFloat).view({2, 3}).t());
    tensors.push_back(at::arange(8, at::kFloat).view({2, 4}).select(1, 2));
    tensors.push_back(at::arange(1, at::kInt).expand({4}));
    return tensors;
}

}  // namespace

TEST_CASE("tensors of many dtypes and strides come back, and undefined ones", "[nn]") {
    const std::vector<at::Tensor> tensors = zoo_of_dtypes();
    const std::vector<at::Tensor> back = tensors_of(bytes_of(tensors));
    REQUIRE(back.size() == tensors.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
        CHECK(back[i].defined() == tensors[i].defined());
        if (back[i].defined() && tensors[i].defined()) {
            CHECK(back[i].scalar_type() == tensors[i].scalar_type());
            CHECK(back[i].sizes() == tensors[i].sizes());
            CHECK(back[i].is_contiguous());
            CHECK(back[i].equal(tensors[i]));
        }
    }
    CHECK(tensors_of(bytes_of(std::vector<at::Tensor>())).empty());
}

TEST_CASE("what autograd knows of a tensor stays behind", "[nn]") {
    const std::vector<at::Tensor> x = {at::arange(3, at::kFloat).requires_grad_()};
    const std::vector<at::Tensor> both = {x[0], x[0].mul(2)};
    for (const at::Tensor& tensor : tensors_of(bytes_of(both))) {
        CHECK_FALSE(tensor.requires_grad());
    }
}

TEST_CASE("bytes that are cut off anywhere, or too long, are refused", "[nn]") {
    const std::vector<std::byte> bytes = bytes_of(zoo_of_dtypes());
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        CHECK_THROWS_AS(tensors_of(std::span(bytes).first(n)), dist::Error);
    }
    std::vector<std::byte> longer = bytes;
    longer.resize(longer.size() + 1);
    CHECK(error_text([&] {
              tensors_of(longer);
          }) == "tensors_of: these bytes are no tensors, or damaged: they are too long");
}

TEST_CASE(
    "whatever stands in a word before the elements, no tensor is larger than the bytes", "[nn]"
) {
    const std::vector<at::Tensor> tensors = {at::zeros({2, 3}), at::zeros({0, 4}), {}};
    const std::vector<std::byte> bytes = bytes_of(tensors);
    constexpr std::size_t kWords = 2 + 4 + 4 + 1;
    for (const std::int64_t value :
         {std::int64_t{-2}, std::int64_t{100}, std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
        for (std::size_t i = 0; i < kWords; ++i) {
            std::vector<std::byte> other = bytes;
            std::memcpy(&other[i * sizeof value], &value, sizeof value);
            try {
                for (const at::Tensor& tensor : tensors_of(other)) {
                    CHECK((!tensor.defined() || tensor.nbytes() <= bytes.size()));
                }
            } catch (const dist::Error&) {  // that is what it should throw
            }
        }
    }
}

TEST_CASE("a sparse tensor is refused", "[nn]") {
    const std::vector<at::Tensor> sparse = {at::zeros({3, 3}).to_sparse()};
    CHECK_THROWS_AS(bytes_of(sparse), std::invalid_argument);
}

TEST_CASE("numbers travel beside tensors", "[nn]") {
    const auto back = dist::nn::numbers_and_tensors_of(bytes_of(dist::nn::NumbersAndTensors{
        {-1, std::int64_t{1} << 60}, {at::arange(3, at::kDouble), at::Tensor()}}));
    CHECK(back.numbers == std::vector<std::int64_t>{-1, std::int64_t{1} << 60});
    REQUIRE(back.tensors.size() == 2);
    CHECK(back.tensors[0].equal(at::arange(3, at::kDouble)));
    CHECK_FALSE(back.tensors[1].defined());
    const std::vector<at::Tensor> floats = {at::zeros({2})};
    CHECK_THROWS_AS(dist::nn::numbers_and_tensors_of(bytes_of(floats)), dist::Error);
    CHECK(dist::nn::numbers_and_tensors_of(bytes_of(dist::nn::NumbersAndTensors())).numbers.empty()
    );
}
