// A model and its optimizer as parts of tensors: what each rank has of state_dict(), without a message.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <string>
#include <vector>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Elements [begin, begin + data.numel()) of a tensor, in row-major order.
struct StatePart {
    std::string name;                 // as in a StateDict
    std::vector<std::int64_t> shape;  // of the tensor
    std::int64_t begin = 0;
    at::Tensor data;  // (n), on the host; a view, where the tensor is there and in one piece
};

/// Of a tensor that all ranks hold alike: chunk_bounds() cuts it.
StatePart equal_part(const std::string& name, const at::Tensor& tensor, const Communicator& comm);

/// Of one of which rank 0's counts: all of it there, no element elsewhere.
StatePart first_part(const std::string& name, const at::Tensor& tensor, const Communicator& comm);

}  // namespace dist::trainer
