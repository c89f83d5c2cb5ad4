// Data parallel, as in chapter 05: every rank has a replica, and averages its gradients after backward.
#pragma once

#include <memory>

#include "course/parallel/replicas.hpp"

namespace dist::trainer {

class Average final : public Replicas {
  public:
    Average(
        const ParallelOptions& options,
        std::shared_ptr<nn::Model> model,
        Trace& trace,
        const Communicator& comm
    );

    void exchange_gradients() override;

  private:
    Trace& trace_;
};

}  // namespace dist::trainer
