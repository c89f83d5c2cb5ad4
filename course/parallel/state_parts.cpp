#include "course/parallel/state_parts.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist::trainer {

namespace {

StatePart part(const std::string& name, const at::Tensor& tensor, const Chunk& elements) {
    const auto begin = static_cast<std::int64_t>(elements.begin);
    const auto n = static_cast<std::int64_t>(elements.size());
    const at::Tensor flat = tensor.detach().contiguous().view(-1);
    return {name, tensor.sizes().vec(), begin, flat.narrow(0, begin, n).cpu()};
}

}  // namespace

StatePart equal_part(const std::string& name, const at::Tensor& tensor, const Communicator& comm) {
    const auto n = static_cast<std::size_t>(tensor.numel());
    return part(name, tensor, chunk_bounds(n, comm.size(), comm.rank()));
}

StatePart first_part(const std::string& name, const at::Tensor& tensor, const Communicator& comm) {
    const auto n = static_cast<std::size_t>(tensor.numel());
    return part(name, tensor, {0, comm.rank() == 0 ? n : 0});
}

}  // namespace dist::trainer
