// Layers under recompute, trained by ZeRO.
#pragma once

#include <optional>
#include <vector>

#include "exercises/07_zero/zero2.hpp"
#include "exercises/07_zero/zero3.hpp"
#include "tests/08_model_parallel/recomputed.hpp"

namespace dist::harness {

/// Each layer of a chain in `call`; with ZeRO-3 that is within a unit. Two steps; returns this rank's shards.
inline std::vector<float> trained_by_zero(
    int stage, const Call& call, Traffic& traffic, const Communicator& comm
) {
    seed_generator(5);
    const at::Tensor x = filled({4, 6}, comm.rank(), 20).div(16);
    const Chain chain;
    Tensors parameters;
    std::vector<FsdpUnit> units;
    for (const Block& block : chain.blocks) {
        parameters.insert(parameters.end(), {block.weights, block.bias});
        units.push_back({{block.weights, block.bias}});
    }
    std::optional<Zero2> two;
    std::optional<Zero3> three;
    if (stage == 2) {
        two.emplace(parameters, std::vector<std::size_t>{1}, nn::OptimizerOptions{}, comm);
    } else {
        three.emplace(units, nn::OptimizerOptions{}, comm);
    }
    const auto forward = [&] {
        at::Tensor h = x;
        for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
            const Module module = [&, i](const Tensors& inputs) {
                return chain.blocks[i].forward(inputs[0]);
            };
            const auto layer = [&] { return call(module, {h}); };
            h = two ? layer() : three->forward(i, layer);
        }
        return h;
    };
    traffic = record(comm, [&] {
        for (int step = 0; step < 2; ++step) {
            two ? two->zero_grad() : three->zero_grad();
            loss_of(forward()).backward();
            two ? two->step() : three->step();
        }
    });
    std::vector<float> weights;
    for (const at::Tensor& shard : (two ? two->optimizer() : three->optimizer()).parameters()) {
        const std::vector<float> more = elements(shard);
        weights.insert(weights.end(), more.begin(), more.end());
    }
    return weights;
}

}  // namespace dist::harness
