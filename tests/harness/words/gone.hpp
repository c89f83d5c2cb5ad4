// Tensors that nobody may keep. For exercises that need LibTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

namespace dist::harness {

/// Tells whether somebody still holds a tensor's memory. It holds none itself.
class WatchedMemory {
  public:
    explicit WatchedMemory(const at::Tensor& tensor)
        : storage_(tensor.storage().getWeakStorageImpl()) {}

    [[nodiscard]] bool is_gone() const { return storage_.expired(); }

  private:
    c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
};

}  // namespace dist::harness
