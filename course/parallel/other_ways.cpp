#include "course/parallel/other_ways.hpp"

#include <stdexcept>
#include <utility>

#include "course/parallel/ps.hpp"
#include "course/parallel/three_d.hpp"
#include "course/parallel/zero1.hpp"
#include "course/parallel/zero2.hpp"
#include "course/parallel/zero3.hpp"

namespace dist::trainer {

std::unique_ptr<Strategy> make_other_way(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
) {
    switch (options.parallel) {
        case Parallel::zero1:
            return std::make_unique<ShardedOptimizer>(options, std::move(model), comm);
        case Parallel::zero2:
            return std::make_unique<ShardedGradients>(options, std::move(model), comm);
        case Parallel::zero3:
            return std::make_unique<ShardedModel>(options, std::move(model), comm);
        case Parallel::ps:
            return std::make_unique<Ps>(options, std::move(model), trace, comm);
        case Parallel::three_d:
            return std::make_unique<ThreeD>(options, model, trace, comm);
        default:
            throw std::logic_error("a way of --parallel that nobody makes");
    }
}

}  // namespace dist::trainer
