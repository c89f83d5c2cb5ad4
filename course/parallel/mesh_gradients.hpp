// What becomes of a stage's gradients before ranks with the same parameters average them.
#pragma once

#include "course/nn/model.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Adds up over tp what each of its ranks has from its own tokens alone: with sequence_parallel.
void add_up_own_tokens(const nn::Model& model, const Communicator& tp);

/// Divides the gradients of experts by the ranks of ep, whose losses backward has added up. What is
/// left to do is the mean over dp and cp.
void divide_experts(const nn::Model& model, const Communicator& ep);

}  // namespace dist::trainer
