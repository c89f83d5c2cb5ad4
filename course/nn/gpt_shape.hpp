// How large a GPT is. No LibTorch here: the command line is read without it.
#pragma once

#include <cstdint>

namespace dist::nn {

/// What stands in each block in the place of its MLP: experts, of which each token asks a few.
struct ExpertShape {
    std::int64_t count = 0;    ///< 0: each block has one MLP, for all tokens
    std::int64_t choices = 2;  ///< experts that a token asks
    double capacity_factor =
        1.25;               ///< room for so many times the choices that an expert has on average
    double balance = 0.01;  ///< what a block's balance loss is multiplied by

    bool operator==(const ExpertShape&) const = default;
};

struct GptShape {
    std::int64_t layers = 4;        ///< blocks, one behind the other
    std::int64_t width = 128;       ///< floats that stand for a token between two blocks
    std::int64_t heads = 4;         ///< of attention; they share the width
    std::int64_t context = 128;     ///< tokens that it sees at most
    std::int64_t vocabulary = 256;  ///< different tokens: bytes
    ExpertShape experts = {};       ///< of each block

    bool operator==(const GptShape&) const = default;
};

}  // namespace dist::nn
