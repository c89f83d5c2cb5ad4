// A model of which a test says in which order its gradients come, and what they are.
#pragma once

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <cctype>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "exercises/06_ddp/gradient_buckets.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

/// Lists of numbers as LibTorch 1.13 writes them to a stream; 2.x leaves it to Catch2, which has braces and commas.
template <class T>
struct NumberList {
    static std::string convert(const std::vector<T>& numbers) {
        std::string text;
        for (const T number : numbers) {
            text += (text.empty() ? "" : " ") + std::to_string(number);
        }
        return text;
    }
};
template <>
struct Catch::StringMaker<std::vector<int>> : NumberList<int> {};
template <>
struct Catch::StringMaker<std::vector<std::int64_t>> : NumberList<std::int64_t> {};
template <>
struct Catch::StringMaker<std::vector<std::size_t>> : NumberList<std::size_t> {};

namespace dist::harness {

using Sizes = std::vector<std::size_t>;

/// Of a p-th of a gradient, and of sums of them.
constexpr double kRounding = 1e-5;

/// The numbers n-1, ..., 0: in which gradients come from a model that is written in its order.
inline Sizes backwards(std::size_t n) {
    Sizes order(n);
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
}

/// Gradients are thrown away: backward makes new ones.
inline void forget_gradients(const std::vector<at::Tensor>& parameters) {
    for (const at::Tensor& parameter : parameters) {
        parameter.mutable_grad() = at::Tensor();
    }
}

/// Parameters of given lengths, which are 1 everywhere.
class Model {
  public:
    explicit Model(const Sizes& lengths) : come_(std::make_shared<int>(0)) {
        for (const std::size_t n : lengths) {
            const auto length = static_cast<std::int64_t>(n);
            parameters.push_back(at::full({length}, 1, at::kFloat).requires_grad_());
            parameters.back().register_hook([come = come_](const at::Tensor&) { ++*come; });
        }
    }

    /// A sum of the parameters in `order`. Backward from it brings their gradients in that order, and adds
    /// gradients[i] to each element of parameter i's.
    [[nodiscard]] at::Tensor loss(const Sizes& order, const std::vector<float>& gradients) const {
        at::Tensor loss = at::zeros({}, at::kFloat);
        // backward begins with the operation that was recorded last
        for (auto i = order.rbegin(); i != order.rend(); ++i) {
            loss = loss.add(parameters[*i].mul(gradients[*i]).sum());
        }
        return loss;
    }

    /// Runs backward from that loss.
    void backward(const Sizes& order, const std::vector<float>& gradients) const {
        *come_ = 0;
        loss(order, gradients).backward();
    }

    /// How many gradients have come, or are coming, in this backward.
    [[nodiscard]] int gradients_come() const { return *come_; }

    /// All gradients' elements, one parameter after the other. Each parameter must have a gradient.
    [[nodiscard]] std::vector<float> each_gradient() const {
        std::vector<float> all;
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            if (!parameters[k].grad().defined()) {
                throw std::runtime_error(
                    "parameter " + std::to_string(k) + " has no gradient: it is undefined"
                );
            }
            const std::vector<float> one = elements(parameters[k].grad());
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

    /// values[i] for each element of parameter i, one parameter after the other.
    [[nodiscard]] std::vector<float> of_each(const std::vector<float>& values) const {
        std::vector<float> all;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            all.insert(all.end(), count(parameters[i]), values[i]);
        }
        return all;
    }

    std::vector<at::Tensor> parameters;

  private:
    std::shared_ptr<int> come_;
};

/// "{3 2} {1 0}"
inline std::string text_of(const std::vector<Bucket>& buckets) {
    std::string text;
    for (const Bucket& bucket : buckets) {
        text += text.empty() ? "{" : " {";
        for (const std::size_t i : bucket) {
            text += (text.back() == '{' ? "" : " ") + std::to_string(i);
        }
        text += "}";
    }
    return text.empty() ? "none" : text;
}

/// A future that is there.
inline std::future<void> ready() {
    std::promise<void> done;
    done.set_value();
    return done.get_future();
}

/// "logic_error with 0, 2": what `call` throws, and the numbers in its text; "nothing" if it returns.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::logic_error& error) {
        std::string numbers;
        const std::string text = error.what();
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (std::isdigit(text[i]) != 0) {
                const bool goes_on = i > 0 && std::isdigit(text[i - 1]) != 0;
                numbers += (goes_on || numbers.empty() ? "" : ", ") + text.substr(i, 1);
            }
        }
        return "logic_error with " + (numbers.empty() ? "no number" : numbers);
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
    return "nothing";
}

}  // namespace dist::harness
