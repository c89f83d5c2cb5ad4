// One loop over steps: what begins and ends an epoch is asked in each.
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist {

void train_step(TrainingParts& parts) {
    parts.zero_gradients();
    const nn::Batch batch = parts.next_batch();
    at::Tensor loss = parts.loss(parts.forward(batch.inputs), batch.labels);
    loss.backward();
    parts.exchange_gradients();
    parts.optimizer_step();
    parts.end_step(loss);
}

void resnet_trainer(TrainingParts& parts) {
    bool first = true;
    for (std::size_t step = parts.step(); step < parts.steps(); ++step) {
        if (first || step % parts.epoch_steps() == 0) {
            parts.set_epoch(step / parts.epoch_steps());
            parts.train(true);
            first = false;
        }
        train_step(parts);
        if ((step + 1) % parts.epoch_steps() == 0 || step + 1 == parts.steps()) {
            parts.train(false);
            parts.evaluate();
            parts.save();
        }
    }
}

}  // namespace dist
