// All tensors in one row of floats: one broadcast for the whole model.
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <vector>

#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist {

void broadcast_parameters(
    std::span<const at::Tensor> parameters, int root, const Communicator& comm
) {
    std::vector<float> row;
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor flat = parameter.detach().reshape(-1).contiguous();
        row.insert(row.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    }
    broadcast(row, root, comm);
    std::int64_t begin = 0;
    const c10::AutoGradMode no_grad(false);
    for (const at::Tensor& parameter : parameters) {
        const at::Tensor all = at::from_blob(row.data(), {static_cast<std::int64_t>(row.size())});
        parameter.copy_(all.narrow(0, begin, parameter.numel()).view(parameter.sizes()));
        begin += parameter.numel();
    }
}

}  // namespace dist
