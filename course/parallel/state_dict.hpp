// A model and its optimizer as tensors with names.
#pragma once

#include <ATen/core/Tensor.h>
#include <map>
#include <string>

namespace dist::trainer {

/// "model.layer1.0.conv1.weight", "optimizer.layer1.0.conv1.weight.exp_avg": names as in Python, so that
/// what one version of LibTorch wrote another one reads, and torch.load as well.
using StateDict = std::map<std::string, at::Tensor>;

}  // namespace dist::trainer
