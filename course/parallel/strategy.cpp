#include "course/parallel/strategy.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "course/parallel/average.hpp"
#include "course/parallel/data_parallel.hpp"
#include "course/parallel/ddp.hpp"
#include "course/parallel/other_ways.hpp"
#include "course/parallel/stop.hpp"

namespace dist::trainer {

double Strategy::clip_gradients(double /*limit*/) {
    throw std::logic_error("clip_gradients: no rank has whole gradients");
}

std::unique_ptr<Strategy> make_strategy(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
) {
    const Way& way = way_of(options.parallel);
    if (way.one_process && comm.size() > 1) {
        throw Stop("--parallel " + std::string(way.name) + " is one process: train -n 1");
    }
    switch (options.parallel) {
        case Parallel::average:
        case Parallel::none:
            return std::make_unique<Average>(options, std::move(model), trace, comm);
        case Parallel::dp:
            return std::make_unique<DataParallel>(options, std::move(model), comm);
        case Parallel::ddp:
            return std::make_unique<Ddp>(options, std::move(model), trace, comm);
        default:
            return make_other_way(options, std::move(model), trace, comm);
    }
}

}  // namespace dist::trainer
