// Takes the memory behind data_ptr for the tensor's elements, although it is not contiguous.
// state: fail
// says: The elements in memory order are not the elements in the tensor's order
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights;
        broadcast({flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())}, root, comm);
    }
}

}  // namespace dist
