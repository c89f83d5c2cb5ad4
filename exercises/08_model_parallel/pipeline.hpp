// Exercise 08: the runner of a pipeline. Each rank goes through its row of a schedule, and together
// they train as one process does.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/pipeline_actions.hpp"

namespace dist {

/// One of the pieces that a model is cut into.
struct PipelineStage {
    int number = 0;  // as in the schedule

    /// x of one micro-batch -> float32, for the next stage or the loss. It may read leaves, such as
    /// parameters.
    std::function<at::Tensor(const at::Tensor& x)> forward;

    std::vector<std::int64_t> input_shape = {};  // of x, which is float32; stage 0 needs none
};

/// Goes through this rank's row. Then the leaves that its stages read have the gradients of
///
///     for (int i = 0; i < m; ++i) {
///         loss(model(inputs[i]), i).div(m).backward();
///     }
///
/// in one process, whose model is all stages one behind the other: bit for bit, and added to what
/// was there before. They add up in the order in which micro-batches go back in the row.
///
/// F     calls forward, and in the last stage loss. Autograd is on where the row has a backward for
///       it, else off; afterwards it is what it was before.
/// B     is backward. A stage whose output does not depend on its input sends zeros back.
/// I     computes the gradient of the stage's input. No leaf gets a gradient yet.
/// W     computes the gradients of leaves. Nobody needs the gradient of stage 0's input: there I
///       computes nothing, and W all.
/// SEND  begins to send, and the rank goes on. Of each stage at most one output and one gradient
///       are on their way: the next one waits for the one before.
/// RECV  begins to receive, and the rank goes on. The computation that needs the message waits.
///
/// rows    of all ranks, with messages: validate() finds nothing, also if sends wait. Or rows of F
///         alone, with their messages: then this is evaluation.
/// stages  those of this rank's row, in any order.
/// inputs  of stage 0, by micro-batch, of any dtype; they stay as they are. Ranks without stage 0
///         may give none.
/// loss    (output of the last stage, micro-batch) -> one number; in evaluation any tensor. Called
///         where the last stage is, the one with the highest number.
/// comm    rank s has row s.
/// Returns what loss has returned, by micro-batch: detached, and not divided by m. Nothing where
///         the last stage is not.
///
/// Cost    a message for each SEND of the row, of one output's floats: 2m(p-1) over all ranks for
///         p stages. I and W together multiply as often as B.
/// Memory  from F to the end of B, or of I, a micro-batch holds its input, and what autograd keeps
///         of the stage; from I to the end of W what the gradients of leaves need. An output is
///         gone when it is sent.
/// Errors  std::invalid_argument, before any message, if comm and rows differ in size, a stage of
///         the row is not in stages, or stage 0 is here and inputs are not one for each
///         micro-batch. dist::Error if a message fails, or has another length than input_shape
///         says. What forward, loss and backward throw.
/// Source  Narayanan et al. (2019), "PipeDream: Generalized pipeline parallelism for DNN training";
///         Qi et al. (2024), "Zero bubble pipeline parallelism"; PyTorch,
///         torch/distributed/pipelining/stage.py and _backward.py.
std::vector<at::Tensor> run_pipeline(
    const Schedule& rows,
    const std::vector<PipelineStage>& stages,
    const std::vector<at::Tensor>& inputs,
    const std::function<at::Tensor(const at::Tensor& output, int micro_batch)>& loss,
    const Communicator& comm
);

/// Adds up the gradients of a tied weight over the ranks that hold a copy of it, such as a table of
/// words: the first stage looks words up in it, the last one multiplies by it. Then each has the
/// whole gradient, the same bits. To be called once in a step, behind the last run_pipeline().
///
/// weight  this rank's copy, a leaf in float32. No gradient counts as zeros. Nothing is done where
///         it requires none, which must be so on all ranks or on none.
/// comm    the ranks that hold a copy. Each of them makes this call.
///
/// Cost    one ring all-reduce of as many floats as weight has.
/// Errors  dist::Error if a message fails.
/// Source  Megatron-LM, megatron/core/distributed/finalize_model_grads.py.
void all_reduce_tied_gradient(const at::Tensor& weight, const Communicator& comm);

}  // namespace dist
