#include "course/lab/ddp/contestant.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <utility>

#include "exercises/05_data_parallel/average_gradients.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "exercises/06_ddp/overlap.hpp"

namespace dist::lab {

namespace {

class None final : public Contestant {
  public:
    using Contestant::Contestant;

    void step(const nn::Batch& batch) override {
        zero_gradients();
        loss(batch).backward();
    }
};

class Average final : public Contestant {
  public:
    Average(std::shared_ptr<nn::Model> model, const Communicator& comm)
        : Contestant(std::move(model)), comm_(comm) {}

    void step(const nn::Batch& batch) override {
        zero_gradients();
        loss(batch).backward();
        average_gradients(parameters(), comm_);
    }

  private:
    const Communicator& comm_;
};

class Ddp final : public Contestant {
  public:
    Ddp(std::shared_ptr<nn::Model> model,
        const std::vector<std::size_t>& limits,
        const Communicator& comm)
        : Contestant(std::move(model)),
          buckets_comm_(comm.dup()),
          reducer_(
              parameters(), limits, overlapped_hook(thread_, all_reduce_hook(buckets_comm_)), comm
          ) {}

    void step(const nn::Batch& batch) override {
        zero_gradients();
        const at::Tensor loss_of_batch = loss(batch);
        reducer_.prepare_for_backward();
        loss_of_batch.backward();
        reducer_.finalize_backward();
    }

  private:
    Communicator buckets_comm_;
    CommThread thread_;
    Reducer reducer_;
};

}  // namespace

Contestant::Contestant(std::shared_ptr<nn::Model> model)
    : model_(std::move(model)), parameters_(model_->parameters()) {}

at::Tensor Contestant::loss(const nn::Batch& batch) const {
    return at::cross_entropy_loss(model_->forward(batch.inputs), batch.labels);
}

void Contestant::zero_gradients() const {
    for (const at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
}

std::vector<std::string> contestant_names() {
    std::vector<std::string> names = {"none", "average", "ddp", "pytorch"};
#ifdef SHARDLINGS_GLOO
    names.emplace_back("gloo");
#endif
    return names;
}

std::unique_ptr<Contestant> make_contestant(
    const std::string& name,
    std::shared_ptr<nn::Model> model,
    const std::vector<std::size_t>& limits,
    const Communicator& comm
) {
    if (name == "none") {
        return std::make_unique<None>(std::move(model));
    }
    if (name == "average") {
        return std::make_unique<Average>(std::move(model), comm);
    }
    if (name == "ddp") {
        return std::make_unique<Ddp>(std::move(model), limits, comm);
    }
    return make_pytorch(name, std::move(model), limits, comm);
}

}  // namespace dist::lab
