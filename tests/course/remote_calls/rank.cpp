#include "tests/course/remote_calls/rank.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_real.h>
#include <array>
#include <cstdio>
#include <iostream>
#include <map>

#include "course/nn/tensor_bytes.hpp"

namespace dist::remote_calls {

void Rank::define(const std::string& name, const Function& function) {
    rpc.define(name, [function](int, std::span<const std::byte> arguments) {
        return nn::bytes_of(function(nn::tensors_of(arguments)));
    });
}

Tensors Rank::call(int to, const std::string& name, const Tensors& arguments) {
    return nn::tensors_of(rpc.rpc_sync(to, name, nn::bytes_of(arguments)));
}

void Rank::define_text(
    const std::string& name, const std::function<std::string(std::string)>& text
) {
    rpc.define(name, [text](int, std::span<const std::byte> argument) {
        return to_bytes(text(to_text(argument)));
    });
}

std::string Rank::ask(int to, const std::string& name, const std::string& argument) {
    return to_text(rpc.rpc_sync(to, name, to_bytes(argument)));
}

void Rank::serve_for(std::chrono::milliseconds time) {
    const auto end = clock.now() + time;
    while (clock.now() < end) {
        rpc.serve();
        clock.sleep(1ms);
    }
}

void say(const std::string& what, const std::string& value) {
    std::cout << what << " = " << value << std::endl;
}

std::string text_of(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        return "none";
    }
    static const std::map<at::ScalarType, std::string> kNames = {
        {at::kByte, "uint8"},
        {at::kChar, "int8"},
        {at::kShort, "int16"},
        {at::kInt, "int32"},
        {at::kLong, "int64"},
        {at::kBool, "bool"},
        {at::kHalf, "float16"},
        {at::kBFloat16, "bfloat16"},
        {at::kFloat, "float32"},
        {at::kDouble, "float64"},
        {at::kComplexFloat, "complex64"}};
    std::string text = kNames.at(tensor.scalar_type()) + " [";
    for (const auto size : tensor.sizes()) {
        text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
    }
    text += "]:";
    const at::Tensor plain = tensor.detach();
    const at::Tensor real = plain.is_complex() ? at::view_as_real(plain) : plain;
    const at::Tensor row = real.to(at::kDouble).contiguous();
    for (const double value : std::span(row.data_ptr<double>(), row.numel())) {
        std::array<char, 32> digits{};
        std::snprintf(digits.data(), digits.size(), " %.9g", value);
        text += digits.data();
    }
    return text;
}

std::string text_of(std::span<const at::Tensor> tensors) {
    std::string text;
    for (const at::Tensor& tensor : tensors) {
        text += (text.empty() ? "" : "; ") + text_of(tensor);
    }
    return text;
}

std::string outcome(const std::function<std::string()>& call) {
    try {
        return call();
    } catch (const RemoteError& error) {
        return "remote error on rank " + std::to_string(error.rank()) + ": " + error.reason();
    } catch (const RpcTimeout&) {
        return "timeout";
    } catch (const std::exception&) {
        return "error";
    }
}

std::string kind_of_outcome(const std::function<std::string()>& call) {
    const std::string text = outcome(call);
    return text.starts_with("remote error") ? text.substr(0, text.find(':')) : text;
}

at::Tensor number(std::int64_t value) {
    return at::full({}, value, at::kLong);
}

std::int64_t number_of(const at::Tensor& tensor) {
    return tensor.item<std::int64_t>();
}

at::Tensor floats(const std::vector<float>& values) {
    return at::tensor(values);
}

}  // namespace dist::remote_calls
