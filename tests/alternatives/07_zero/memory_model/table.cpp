// A row of the paper's table for each stage, in bytes of a parameter and bytes of a shard's element.
#include <stdexcept>
#include <utility>

#include "exercises/07_zero/memory_model.hpp"

namespace dist {
namespace {

struct Bytes {
    std::size_t whole;
    std::size_t sharded;
};

struct Row {
    Bytes parameters;
    Bytes gradients;
    Bytes optimizer;
};

Row row_of(ZeroStage stage, Precision precision, OptimizerKind optimizer) {
    const std::size_t e = precision == Precision::fp32 ? 4 : 2;
    std::size_t k = precision == Precision::fp32 ? 0 : 4;
    k += optimizer == OptimizerKind::adam ? 8 : 0;
    k += optimizer == OptimizerKind::momentum ? 4 : 0;
    switch (stage) {
        case ZeroStage::none:
            return {{e, 0}, {e, 0}, {k, 0}};
        case ZeroStage::optimizer:
            return {{e, 0}, {e, 0}, {0, k}};
        case ZeroStage::gradients:
            return {{e, 0}, {0, e}, {0, k}};
        case ZeroStage::parameters:
            return {{0, e}, {0, e}, {0, k}};
    }
    throw std::logic_error("no such stage");
}

std::size_t ranks_of(int p) {
    if (p < 1) {
        throw std::invalid_argument("there is no such number of ranks");
    }
    return static_cast<std::size_t>(p);
}

}  // namespace

ModelStates memory_model(
    std::size_t n, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    const std::size_t ranks = ranks_of(p);
    const std::size_t shard = n / ranks + (n % ranks == 0 ? 0 : 1);
    const std::size_t row = stage == ZeroStage::none ? n : shard * ranks;
    const Row bytes = row_of(stage, precision, optimizer);
    const auto held = [&](Bytes each) { return each.whole * row + each.sharded * shard; };
    return {held(bytes.parameters), held(bytes.gradients), held(bytes.optimizer)};
}

std::size_t largest_model(
    std::size_t bytes, int p, ZeroStage stage, Precision precision, OptimizerKind optimizer
) {
    const std::size_t ranks = ranks_of(p);
    const Row row = row_of(stage, precision, optimizer);
    const std::size_t whole = row.parameters.whole + row.gradients.whole + row.optimizer.whole;
    const std::size_t shard =
        row.parameters.sharded + row.gradients.sharded + row.optimizer.sharded;
    if (stage == ZeroStage::none) {
        return bytes / whole;
    }
    return bytes / (whole * ranks + shard) * ranks;
}

}  // namespace dist
