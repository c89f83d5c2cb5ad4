#include "exercises/05_data_parallel/resnet_trainer.hpp"

#include <algorithm>

namespace dist {

void train_step(TrainingParts& parts) {
    const nn::Batch batch = parts.next_batch();
    parts.zero_gradients();
    const at::Tensor loss = parts.loss(parts.forward(batch.inputs), batch.labels);
    loss.backward();             // this rank's gradients,
    parts.exchange_gradients();  // everyone's,
    parts.optimizer_step();      // and only then the step
    parts.end_step(loss);
}

void resnet_trainer(TrainingParts& parts) {
    while (parts.step() < parts.steps()) {
        const std::size_t epoch = parts.step() / parts.epoch_steps();
        const std::size_t end = std::min((epoch + 1) * parts.epoch_steps(), parts.steps());
        parts.set_epoch(epoch);
        parts.train(true);
        while (parts.step() < end) {
            train_step(parts);
        }
        parts.train(false);
        parts.evaluate();
        parts.save();
    }
}

}  // namespace dist
