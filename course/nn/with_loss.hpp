// A loss of a layer's own, such as that of a router: it need not travel to the end of the model.
#pragma once

#include <ATen/core/Tensor.h>

namespace dist::nn {

/// y, as it is. A backward that comes here goes through `loss` as well, as if `loss` had been added
/// to what that backward began with.
///
/// loss  one number.
at::Tensor with_loss(const at::Tensor& y, const at::Tensor& loss);

}  // namespace dist::nn
