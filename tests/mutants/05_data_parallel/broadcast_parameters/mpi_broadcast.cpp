// Lets MPI do the broadcast.
// state: forbidden
// says: This exercise stands on your own broadcast
#include <mpi.h>

#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        const int n = static_cast<int>(flat.numel());
        MPI_CHECK(MPI_Bcast(flat.data_ptr<float>(), n, MPI_FLOAT, root, comm.handle()));
        if (!flat.is_same(weights)) {
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
