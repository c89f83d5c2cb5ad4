#include "course/trainer/parallel/strategy.hpp"

#include <stdexcept>
#include <utility>

#include "course/trainer/parallel/average.hpp"
#include "course/trainer/parallel/ddp.hpp"
#include "course/trainer/stop.hpp"

namespace dist::trainer {

std::unique_ptr<Strategy> make_strategy(
    const Options& options, std::shared_ptr<nn::Model> model, Trace& trace, const Communicator& comm
) {
    switch (options.parallel) {
        case Parallel::average:
            return std::make_unique<Average>(options, std::move(model), trace, comm);
        case Parallel::none:
            if (comm.size() > 1) {
                throw Stop("--parallel none is one process: train -n 1");
            }
            return std::make_unique<Average>(options, std::move(model), trace, comm);
        case Parallel::ddp:
            return std::make_unique<Ddp>(options, std::move(model), trace, comm);
    }
    throw std::logic_error("a way of --parallel that nobody makes");
}

}  // namespace dist::trainer
