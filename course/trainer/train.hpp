// The program that all chapters lead to.
#pragma once

#include "course/runtime/communicator.hpp"
#include "course/trainer/options.hpp"

namespace dist::trainer {

/// Trains a model on every rank's share of the pictures, and prints, logs and saves what `options`
/// ask for.
///
/// comm    collective: every rank of `comm` makes this call.
///
/// Errors  Stop, on every rank alike, if data, log or checkpoint cannot be used.
void train(const Options& options, const Communicator& comm);

}  // namespace dist::trainer
