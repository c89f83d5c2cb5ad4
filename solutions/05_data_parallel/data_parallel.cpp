#include "exercises/05_data_parallel/data_parallel.hpp"

#include <ATen/ops/cat.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <future>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

at::Tensor data_parallel(
    const ModelFunction& model,
    std::span<const at::Tensor> parameters,
    const at::Tensor& inputs,
    int replicas
) {
    expects(inputs.size(0) >= 1, "data_parallel: inputs must have at least one row");
    expects(replicas >= 1, "data_parallel: replicas must be at least 1");
    const auto rows = static_cast<std::size_t>(inputs.size(0));
    const int p = static_cast<int>(std::min(rows, static_cast<std::size_t>(replicas)));
    const bool recording = c10::GradMode::is_enabled();

    const auto run_replica = [&](int r) {
        const c10::AutoGradMode as_in_the_caller(recording);  // in a new thread it is on
        std::vector<at::Tensor> copies;
        for (const at::Tensor& parameter : parameters) {
            copies.push_back(parameter.clone());
        }
        const Chunk part = chunk_bounds(rows, p, r);
        const auto begin = static_cast<std::int64_t>(part.begin);
        const auto size = static_cast<std::int64_t>(part.size());
        return model(copies, inputs.narrow(0, begin, size));
    };
    std::vector<std::future<at::Tensor>> running;
    for (int r = 0; r < p; ++r) {
        running.push_back(std::async(std::launch::async, run_replica, r));
    }
    std::vector<at::Tensor> outputs;
    for (std::future<at::Tensor>& output : running) {
        outputs.push_back(output.get());  // where it throws, ~future waits for the other threads
    }
    return at::cat(outputs);
}

}  // namespace dist
