// Rows: tensors of one dimension in which parameters or gradients lie side by side.
#pragma once

#include <ATen/core/Tensor.h>
#include <span>

namespace dist::nn {

/// The elements of a row, as the collectives take them.
///
/// row     of float32, in one piece, on the host.
std::span<float> floats(const at::Tensor& row);

/// Gives the row's memory back. It keeps its length, and so do all views of it; nobody may read or write
/// them until alloc_storage(). Does nothing where the memory is gone.
///
/// Source  PyTorch, torch/distributed/utils.py, _free_storage.
void free_storage(const at::Tensor& row);

/// Gives the row memory again, of kind parameters, with anything in it: all views have it too, also those that autograd has
/// kept for backward. Does nothing where there is memory.
///
/// row     the whole of its storage: not a part of another row.
///
/// Source  PyTorch, torch/distributed/utils.py, _alloc_storage.
void alloc_storage(const at::Tensor& row);

/// Whether the row's memory is there.
bool has_storage(const at::Tensor& row);

/// Refuses what cannot be trained in rows: each must be a leaf in float32 that requires gradients, and stand
/// there once.
///
/// who     for the text: "Zero1".
///
/// Errors  std::invalid_argument, which says what is wrong with which parameter.
void expect_trainable(std::span<const at::Tensor> parameters, const char* who);

}  // namespace dist::nn
