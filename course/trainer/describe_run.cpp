// A run in words: its model, and what it has in common with the one that it goes on from.
#include <sstream>

#include "course/trainer/options.hpp"

namespace dist::trainer {

std::string describe_model(const Options& options) {
    std::ostringstream text;
    text << options.model;
    if (options.model == kGpt) {
        text << " of " << options.gpt.layers << " layers of width " << options.gpt.width << " with "
             << options.gpt.heads << " heads and a context of " << options.gpt.context;
        if (options.gpt.experts.count > 0) {
            text << " and " << options.gpt.experts.count << " experts a block ("
                 << options.gpt.experts.choices << " for each byte)";
        }
    }
    return text.str();
}

std::string describe_run(const Options& options, const TaskFacts& task, int ranks) {
    std::ostringstream text;
    text << "model " << describe_model(options) << ", seed " << options.seed << ", "
         << task.train_size << " " << task.examples << ", "
         << options.global_batch.value_or(options.batch * static_cast<std::size_t>(ranks)) << " "
         << task.examples << (options.global_batch ? " a step of all ranks, " : " a step, ")
         << (options.last_batch == "fill" ? "" : "the last batch " + options.last_batch + ", ")
         << (options.accumulate > 1
                 ? "gradients of " + std::to_string(options.accumulate) + " steps added up, "
                 : "")
         << options.dtype << ", " << options.optimizer << ", rate " << options.rate << " on "
         << options.schedule << ", momentum " << options.momentum << ", weight decay "
         << options.weight_decay << ", label smoothing " << options.label_smoothing << ", augment "
         << options.augment;
    if (options.gpt.experts.count > 0) {
        text << ", capacity factor " << options.gpt.experts.capacity_factor << ", balance "
             << options.gpt.experts.balance;
    }
    if (options.clip_norm) {
        text << ", norm of gradients up to " << *options.clip_norm;
    }
    return text.str();
}

}  // namespace dist::trainer
