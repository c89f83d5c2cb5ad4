// DataParallel, as in chapter 05: one process, and a thread for each of its replicas, which share the batch.
#pragma once

#include <memory>
#include <vector>

#include "course/parallel/replicas.hpp"

namespace dist::trainer {

class DataParallel final : public Replicas {
  public:
    DataParallel(
        const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    /// Buffers, such as a normalisation's statistics, become those of replica 0, as in PyTorch.
    at::Tensor forward(const at::Tensor& inputs) override;

    /// Nothing: backward() has added the replicas' gradients up.
    void exchange_gradients() override;

  private:
    const ParallelOptions& options_;
    std::vector<std::shared_ptr<nn::Model>> replicas_;
};

}  // namespace dist::trainer
