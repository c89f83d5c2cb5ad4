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
    // TODO: which examples are this rank's? Count what the model gets right among them, and add the
    // ranks' counts.
    throw NotImplemented("evaluate");
}

}  // namespace dist
