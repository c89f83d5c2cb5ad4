// What a GPT makes of a text: train --sample.
#pragma once

#include "course/runtime/communicator.hpp"
#include "course/trainer/options.hpp"

namespace dist::trainer {

/// Prints options.sample, and the bytes with which the model of the checkpoint goes on, each as soon as it is drawn:
/// from the model's scores, by the run's seed.
///
/// alone   this process.
///
/// Errors  std::runtime_error, saying what to do, if there is no checkpoint of a gpt as large as the options say.
void print_sample(const Options& options, const Communicator& alone);

}  // namespace dist::trainer
