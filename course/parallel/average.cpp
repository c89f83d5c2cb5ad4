#include "course/parallel/average.hpp"

#include <utility>

#include "course/parallel/flight.hpp"
#include "course/runtime/clock.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist::trainer {

Average::Average(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
)
    : Replicas(options, std::move(model), comm, "average_gradients"), trace_(trace) {}

void Average::exchange_gradients() {
    if (comm().size() > 1) {  // alone they are their own mean
        const double begin_s = now_s();
        const Noted noted(comm(), {.name = "all_reduce", .count = elements(), .op = "mean"});
        average_gradients(parameters(), comm());
        trace_.add(Lane::communication, all_reduce_name("all gradients"), begin_s, now_s());
    }
}

}  // namespace dist::trainer
