// The epochs in a for loop; the gradients of the step before taken away as late as possible.
#include <algorithm>

#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist {

void train_step(TrainingParts& parts) {
    const auto [pictures, labels] = parts.next_batch();
    const at::Tensor scores = parts.forward(pictures);
    const at::Tensor loss = parts.loss(scores, labels);
    parts.zero_gradients();
    loss.backward();
    parts.exchange_gradients();
    parts.optimizer_step();
    parts.end_step(loss);
}

void resnet_trainer(TrainingParts& parts) {
    const std::size_t each = parts.epoch_steps();
    for (std::size_t epoch = parts.step() / each; parts.step() < parts.steps(); ++epoch) {
        parts.train(true);
        parts.set_epoch(epoch);
        do {
            train_step(parts);
        } while (parts.step() % each != 0 && parts.step() < parts.steps());
        parts.train(false);
        parts.evaluate();
        parts.save();
    }
}

}  // namespace dist
