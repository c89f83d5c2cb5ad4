// What PyTorch's reducer.hpp includes, and Debian's package of LibTorch 1.13 leaves out: the names that it uses.
#pragma once

#include <functional>
#include <memory>

namespace at {
class Tensor;
}

namespace torch::distributed::autograd {

class DistAutogradContext {
  public:
    using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd
