// No broadcast: the root sends every other rank the tensor's bytes itself.
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "broadcast_parameters: root must be a rank of comm");
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor weights = parameter.detach();
        const at::Tensor flat = weights.contiguous();
        const int n = static_cast<int>(flat.nbytes());
        for (int dst = 0; comm.rank() == root && dst < comm.size(); ++dst) {
            if (dst != root) {
                MPI_CHECK(MPI_Send(flat.data_ptr(), n, MPI_BYTE, dst, 0, comm.handle()));
            }
        }
        if (comm.rank() != root) {
            MPI_CHECK(
                MPI_Recv(flat.data_ptr(), n, MPI_BYTE, root, 0, comm.handle(), MPI_STATUS_IGNORE)
            );
            weights.copy_(flat);
        }
    }
}

}  // namespace dist
