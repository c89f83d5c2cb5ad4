// Files of tensors that are cut into parts.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dist::nn {

/// Elements [begin, begin + data.numel()) of a tensor of `numel` elements, counted in row-major order.
struct TensorPart {
    std::string name;  // of the tensor
    std::int64_t numel = 0;
    std::int64_t begin = 0;
    at::Tensor data;  // (n), in one piece, on the host; of the tensor's dtype; without gradient
};

/// What a file holds: parts of tensors, and numbers beside them, each under its own name.
struct TensorFile {
    std::map<std::string, std::int64_t> numbers;
    std::vector<TensorPart> parts;
};

/// The bytes of such a file: a line of JSON that says what is in it (`head -n 1 FILE`), the elements, a
/// checksum of all that.
///
/// Cost    a copy of the elements.
/// Errors  std::invalid_argument, naming the tensor, for a part that is not as above.
std::string to_bytes(const TensorFile& file);

/// Reads what to_bytes made.
///
/// Cost    memory for the elements, once.
/// Errors  std::runtime_error: "PATH: cannot be read: No such file or directory", or the system's other
///         reason; "PATH: is damaged or cut off" if a byte is not as it was written.
TensorFile read_tensor_file(const std::filesystem::path& path);

}  // namespace dist::nn
