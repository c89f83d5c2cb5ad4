// Leaves an undefined gradient out of the row: ranks then add elements of different parameters.
// state: fail
// says: Rank 0 had no gradient for parameter 1
#include <algorithm>
#include <vector>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist {

void average_gradients(std::span<const at::Tensor> parameters, const Communicator& comm) {
    std::vector<float> row;
    for (const at::Tensor& parameter : parameters) {
        if (parameter.grad().defined()) {
            const at::Tensor flat = parameter.grad().contiguous();
            row.insert(row.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
        }
    }
    ring_all_reduce(row, ReduceOp::mean, comm);
    const float* from = row.data();
    for (const at::Tensor& parameter : parameters) {
        if (parameter.grad().defined()) {
            const at::Tensor flat = parameter.grad().contiguous();
            std::copy_n(from, flat.numel(), flat.data_ptr<float>());
            parameter.grad().copy_(flat);
            from += flat.numel();
        }
    }
}

}  // namespace dist
