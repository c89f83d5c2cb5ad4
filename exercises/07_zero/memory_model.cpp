#include "exercises/07_zero/memory_model.hpp"

namespace dist {

ModelStates memory_model(
    std::size_t n, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    // TODO: bytes of an element, times how many of them a rank holds: n, a whole row, or a shard.
    // largest_model asks for n: how many bytes does each further element of the shards take?
    throw NotImplemented("memory_model");
}

std::size_t largest_model(
    std::size_t bytes, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    throw NotImplemented("largest_model");
}

}  // namespace dist
