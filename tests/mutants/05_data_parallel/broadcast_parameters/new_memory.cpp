// Gives every parameter new memory: whoever holds the old one goes on with the old numbers.
// state: fail
// says: an optimizer, or a view, that was made before goes on with the old numbers
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor arrived = parameter.detach().contiguous().clone();
        const auto n = static_cast<std::size_t>(arrived.numel());
        broadcast({arrived.data_ptr<float>(), n}, root, comm);
        parameter.set_data(arrived);
    }
}

}  // namespace dist
