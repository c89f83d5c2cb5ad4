// In the place of LibTorch's, see ../../CMakeLists.txt.
#pragma once

#include <ATen/core/Tensor.h>
