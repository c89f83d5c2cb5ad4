// DistributedDataParallel, as in chapter 06: buckets of gradients travel while backward makes others.
#pragma once

#include <memory>
#include <vector>

#include "course/parallel/replicas.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "exercises/06_ddp/overlap.hpp"

namespace dist::trainer {

class Ddp final : public Replicas {
  public:
    Ddp(const ParallelOptions& options,
        std::shared_ptr<nn::Model> model,
        Trace& trace,
        const Communicator& comm);

    void prepare_for_backward(const at::Tensor& loss) override;
    void exchange_gradients() override;

    /// With the order of the plan: sums are rounded in the order in which elements lie, so a run that goes
    /// on has to have them where they were.
    [[nodiscard]] StateDict state_dict() const override;
    [[nodiscard]] std::vector<StatePart> parts() const override;
    void load_state_dict(const StateDict& state) override;

  private:
    /// Of the plan, as a checkpoint has it.
    [[nodiscard]] at::Tensor order() const;

    /// all_reduce_hook() on the thread, which the trace is told of; on a GPU NCCL's.
    [[nodiscard]] CommHook make_hook();

    /// order  numbers of the parameters, in which their gradients are expected.
    void make_reducer(const std::vector<std::size_t>& order);

    const ParallelOptions& options_;
    Trace& trace_;
    Communicator buckets_comm_;  // the loss is averaged on the other while buckets are under way
    CommThread thread_;
    std::vector<std::size_t> numbers_;  // in the model, of each of the Reducer's parameters
    std::unique_ptr<Reducer> reducer_;
};

}  // namespace dist::trainer
