#include "course/nn/functional_call.hpp"

#include <torch/csrc/autograd/variable.h>

#include "course/runtime/error.hpp"

namespace dist::nn {

std::vector<at::Tensor> tensors_of(const Model& model) {
    std::vector<at::Tensor> all = model.parameters();
    const std::vector<at::Tensor> buffers = model.buffers();
    all.insert(all.end(), buffers.begin(), buffers.end());
    return all;
}

at::Tensor functional_call(
    Model& model, std::span<const at::Tensor> tensors, const at::Tensor& inputs
) {
    const std::vector<at::Tensor> places = tensors_of(model);
    expects(places.size() == tensors.size(), "functional_call: one tensor for each of the model's");
    for (std::size_t i = 0; i < places.size(); ++i) {
        using namespace torch::autograd::impl;
        places[i].set_data(tensors[i]);  // its numbers, and its place in the graph
        set_gradient_edge(places[i], gradient_edge(tensors[i]));
    }
    return model.forward(inputs);
}

}  // namespace dist::nn
