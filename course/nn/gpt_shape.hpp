// How large a GPT is. No LibTorch here: the command line is read without it.
#pragma once

#include <cstdint>

namespace dist::nn {

struct GptShape {
    std::int64_t layers = 4;        ///< blocks, one behind the other
    std::int64_t width = 128;       ///< floats that stand for a token between two blocks
    std::int64_t heads = 4;         ///< of attention; they share the width
    std::int64_t context = 128;     ///< tokens that it sees at most
    std::int64_t vocabulary = 256;  ///< different tokens: bytes
};

}  // namespace dist::nn
