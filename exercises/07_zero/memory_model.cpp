#include "exercises/07_zero/memory_model.hpp"

namespace dist {

ModelStates memory_model(
    std::size_t n, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    // TODO: count parameters, gradients and what the optimizer keeps. How many elements does a rank hold of
    // each, and how many bytes has an element? Then largest_model: what does one more parameter cost?
    throw NotImplemented("memory_model");
}

std::size_t largest_model(
    std::size_t bytes, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    throw NotImplemented("largest_model");
}

}  // namespace dist
