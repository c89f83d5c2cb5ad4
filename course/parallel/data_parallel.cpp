#include "course/parallel/data_parallel.hpp"

#include <ATen/ops/arange.h>
#include <algorithm>
#include <map>
#include <utility>

#include <torch/utils.h>

#include "course/nn/functional_call.hpp"
#include "course/nn/gpt.hpp"
#include "course/parallel/autocast.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/05_data_parallel/data_parallel.hpp"

namespace dist::trainer {

DataParallel::DataParallel(
    const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
)
    : Replicas(options, std::move(model), comm, "data_parallel"), options_(options) {
    for (std::size_t r = 0; r < options.replicas; ++r) {
        replicas_.push_back(
            options.model == kGpt ? nn::make_gpt(options.gpt) : nn::make_model(options.model)
        );
    }
}

at::Tensor DataParallel::forward(const at::Tensor& inputs) {
    const std::vector<at::Tensor> tensors = nn::tensors_of(model());
    const std::vector<at::Tensor> buffers = model().buffers();

    // What is scattered are the rows' numbers: by its first one a replica knows which it is.
    const at::Tensor rows = at::arange(inputs.size(0));
    const int p = static_cast<int>(std::min(inputs.size(0), std::ssize(replicas_)));
    std::map<std::size_t, nn::Model*> replica_of;
    for (int r = 0; r < p; ++r) {
        const auto size = static_cast<std::size_t>(inputs.size(0));
        replica_of[chunk_bounds(size, p, r).begin] = replicas_[static_cast<std::size_t>(r)].get();
    }
    std::vector<at::Tensor> first_buffers;
    const auto run_replica = [&](std::span<const at::Tensor> copies, const at::Tensor& part) {
        const auto begin = part[0].item<std::int64_t>();
        if (begin == 0) {
            const auto copied = copies.last(buffers.size());
            first_buffers.assign(copied.begin(), copied.end());
        }
        nn::Model& replica = *replica_of.at(static_cast<std::size_t>(begin));
        replica.train(model().is_training());
        const Autocast autocast(
            options_.dtype == "bf16", at::kCPU
        );  // a thread of its own begins without
        return nn::functional_call(replica, copies, inputs.narrow(0, begin, part.size(0)));
    };
    at::Tensor scores = data_parallel(run_replica, tensors, rows, p);

    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i].copy_(first_buffers[i]);
    }
    return scores;
}

void DataParallel::exchange_gradients() {}

}  // namespace dist::trainer
