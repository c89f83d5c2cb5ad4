#include "exercises/05_data_parallel/evaluate.hpp"

#include <c10/core/GradMode.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

Evaluation evaluate(
    const std::function<at::Tensor(const at::Tensor&)>& forward,
    const std::function<nn::Batch(std::span<const std::size_t>)>& load,
    std::size_t n,
    std::size_t batch,
    const Communicator& comm
) {
    // TODO: which examples are this rank's? Take them, `batch` at a time at most, count what
    // scores.argmax(1) gets right, and add the ranks' counts. c10::AutoGradMode no_grad(false) keeps
    // autograd out while it lives.
    throw NotImplemented("evaluate");
}

}  // namespace dist
