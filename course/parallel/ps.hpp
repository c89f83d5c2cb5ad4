// Parameter servers, as in chapter 09: other ranks hold the weights and step them. This rank pulls them, computes a gradient of
// its own examples, and pushes that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "course/parallel/whole_model.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/rpc.hpp"
#include "exercises/09_rpc/parameter_server.hpp"

namespace dist::trainer {

/// On a server: takes one number, the learning rate of the steps that follow.
inline constexpr const char* kRate = "train.rate";

class Ps final : public WholeModel {
  public:
    /// options  with the Rpc that reaches the servers.
    /// comm     the workers.
    Ps(const ParallelOptions& options,
       std::shared_ptr<nn::Model> model,
       Trace& trace,
       const Communicator& comm);
    ~Ps() override;
    Ps(const Ps&) = delete;
    Ps& operator=(const Ps&) = delete;
    Ps(Ps&&) = delete;
    Ps& operator=(Ps&&) = delete;

    void zero_gradients() override;

    /// Nothing: step() pushes them, when the rate is known.
    void exchange_gradients() override;
    void step(double rate) override;

    [[nodiscard]] std::vector<StatePart> parts() const override { return model_parts(); }

    /// Where weights may be older, workers are apart.
    void expect_equal(std::size_t done) const override;

  private:
    void tell_rate(double rate);

    const ParallelOptions& options_;
    Trace& trace_;
    SteadyClock clock_;
    std::vector<int> servers_;
    std::vector<float> row_;  // of gradients, then of weights
    ParameterClient client_;
    std::int64_t step_ = 0;
};

/// The last options.servers ranks serve the parameters, the others train. Returns when all have ended.
///
/// options  rpc is not looked at.
/// calls    how long a call may take.
/// weights  called on the servers: all weights of the model, as worker 0 has them at first.
/// train    called on the workers, with an Rpc between all ranks, and the workers.
///
/// Errors   Stop, on every rank, if no worker is left; Error that names the server, if one has died.
void with_servers(
    const ParallelOptions& options,
    Clock::Duration calls,
    const Communicator& comm,
    const std::function<std::vector<at::Tensor>()>& weights,
    const std::function<void(Rpc& rpc, const Communicator& workers)>& train
);

}  // namespace dist::trainer
