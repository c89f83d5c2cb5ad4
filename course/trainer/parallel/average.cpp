#include "course/trainer/parallel/average.hpp"

#include <utility>

#include "exercises/05_data_parallel/average_gradients.hpp"

namespace dist::trainer {

Average::Average(const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm)
    : Replicas(options, std::move(model), comm, "average_gradients") {}

void Average::zero_gradients() {
    // not zeroed in place: average_gradients may have left a view, which cannot be
    for (const at::Tensor& parameter : parameters()) {
        parameter.mutable_grad().reset();
    }
}

void Average::prepare_for_backward(const at::Tensor& /*loss*/) {}

void Average::exchange_gradients() {
    if (comm().size() > 1) {  // alone they are their own mean
        average_gradients(parameters(), comm());
    }
}

}  // namespace dist::trainer
