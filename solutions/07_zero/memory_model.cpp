#include "exercises/07_zero/memory_model.hpp"

namespace dist {

ModelStates memory_model(
    std::size_t n, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    expects(p >= 1, "memory_model: there is one rank at least");
    const auto ranks = static_cast<std::size_t>(p);
    const std::size_t shard = (n + ranks - 1) / ranks;
    const std::size_t row = stage == ZeroStage::none ? n : ranks * shard;
    const auto held = [&](ZeroStage from) { return stage >= from ? shard : row; };

    const bool mixed = precision == Precision::mixed;
    const std::size_t element = mixed ? 2 : 4;
    const std::size_t master = mixed ? 4 : 0;
    const std::size_t kept = optimizer == OptimizerKind::sgd        ? 0
                             : optimizer == OptimizerKind::momentum ? 4
                                                                    : 8;
    return {
        .parameters = element * held(ZeroStage::parameters),
        .gradients = element * held(ZeroStage::gradients),
        .optimizer = (master + kept) * held(ZeroStage::optimizer)};
}

std::size_t largest_model(
    std::size_t bytes, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    // p more parameters add one element to each shard, so sizes grow by steps of p parameters
    const int together = stage == ZeroStage::none ? 1 : p;
    const auto n = static_cast<std::size_t>(together);
    return bytes / memory_model(n, p, stage, precision, optimizer).total() * n;
}

}  // namespace dist
