// tensors.hpp, and what tells autograd of an operation: half of what such an answer takes to compile, and more than the others
// would gain. No file relies on it.
#pragma once

#include <ATen/core/Formatting.h>  // custom_function.h needs it, and does not say so

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/tensors.hpp"
