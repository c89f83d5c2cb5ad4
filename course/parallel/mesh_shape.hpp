// What --mesh asks for: in how many parts each dimension is cut. No LibTorch here: the command line
// is read without it.
#pragma once

#include <string>

namespace dist::trainer {

/// A grid of ranks. Neighbours differ in tp, then in cp, ep, dp and pp, as in Megatron.
struct MeshShape {
    int tp = 1;  ///< tensor: ranks share each layer
    int cp = 1;  ///< context: the tokens of each example
    int ep = 1;  ///< expert: the experts of each block, and the examples
    int dp = 1;  ///< data: the examples
    int pp = 1;  ///< pipeline: the blocks, one behind the other

    bool operator==(const MeshShape&) const = default;
};

/// tp cp ep dp pp.
long long ranks_of(const MeshShape& shape);

/// Reads "dp=2,pp=2,tp=2": each dimension once at most, in any order. One that is not named has 1
/// part.
///
/// Errors  std::invalid_argument, with a text for people.
MeshShape read_mesh(const std::string& text);

/// What read_mesh() reads: "dp=2,pp=2,cp=1,tp=2,ep=1".
std::string describe(const MeshShape& shape);

}  // namespace dist::trainer
