// Lets MPI do the all-reduce.
// state: forbidden
// says: This exercise stands on your own ring_all_reduce
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <mpi.h>

#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    std::int64_t n = 0;
    for (const at::Tensor& parameter : parameters) {
        if (!parameter.grad().defined()) {
            parameter.mutable_grad() = at::zeros_like(parameter);
        }
        n += parameter.numel();
    }
    const at::Tensor flat = at::empty({n}, at::kFloat);
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : parameters) {
        flat.narrow(0, begin, parameter.numel()).copy_(parameter.grad().reshape(-1));
        begin += parameter.numel();
    }
    const int count = static_cast<int>(n);
    float* data = flat.data_ptr<float>();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm.handle()));
    flat.div_(comm.size());
    begin = 0;
    for (const at::Tensor& parameter : parameters) {
        parameter.grad().copy_(flat.narrow(0, begin, parameter.numel()).view_as(parameter));
        begin += parameter.numel();
    }
}

}  // namespace dist
