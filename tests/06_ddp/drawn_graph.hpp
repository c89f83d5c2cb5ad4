// A graph of autograd's that is drawn, and what each of its results uses.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <set>
#include <vector>

#include "course/runtime/seeded.hpp"

namespace dist::harness {

/// A graph that is drawn: 100 operations on 70 parameters and on each other, and what each result uses.
struct DrawnGraph {
    DrawnGraph(const std::vector<at::Tensor>& parameters, std::uint64_t seed) {
        std::uint64_t i = 0;
        const auto random = [&](std::size_t below) { return seeded_bits(seed, i++) % below; };
        for (std::size_t number = 0; number < parameters.size(); ++number) {
            results.push_back(parameters[number]);
            uses.push_back({number});
        }
        for (int operation = 0; operation < 100; ++operation) {
            const std::size_t a = random(results.size());
            const std::size_t b = random(results.size());
            const bool is_detached = random(8) == 0;
            results.push_back(results[a].mul(is_detached ? results[b].detach() : results[b]));
            uses.push_back(uses[a]);
            if (!is_detached) {
                uses.back().insert(uses[b].begin(), uses[b].end());
            }
        }
    }

    std::vector<at::Tensor> results;
    std::vector<std::set<std::size_t>> uses;
};

}  // namespace dist::harness
