#include "exercises/05_data_parallel/broadcast_parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "broadcast_parameters: root must be a rank of comm");
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();  // the same memory, unseen by autograd
        const at::Tensor flat = weights.contiguous();   // the same again, unless a copy is needed
        const std::span bytes(static_cast<std::byte*>(flat.data_ptr()), flat.nbytes());
        // a broadcast only copies: the bits of any type can travel as floats
        std::vector<float> floats((bytes.size() + sizeof(float) - 1) / sizeof(float));
        std::ranges::copy(bytes, std::as_writable_bytes(std::span(floats)).begin());
        broadcast(floats, root, comm);
        std::ranges::copy(std::as_bytes(std::span(floats)).first(bytes.size()), bytes.begin());
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
