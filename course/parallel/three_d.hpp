// Data, pipeline, context and tensor parallel at once, as in chapter 08: a GPT on a mesh of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "course/parallel/strategy.hpp"
#include "course/runtime/pipeline_actions.hpp"
#include "exercises/08_model_parallel/device_mesh.hpp"
#include "exercises/08_model_parallel/pipeline.hpp"

namespace dist::trainer {

/// Ranks of one tp, cp and pp group compute with the same examples: each has its part of the model,
/// or of the tokens. What ranks of dp and cp hold alike, one of the ways of chapters 05 and 07
/// averages, or cuts into shards.
class ThreeD final : public Strategy {
  public:
    /// whole  its weights are rank 0's. Afterwards it is empty: no rank has all of them.
    ///
    /// Errors  Stop, on every rank, if there are not as many ranks as the mesh has.
    ThreeD(
        const ParallelOptions& options,
        const std::shared_ptr<nn::Model>& whole,
        Trace& trace,
        const Communicator& comm
    );

    /// Of dp: all others see the same examples as some rank of it.
    [[nodiscard]] const Communicator& data_ranks(const Communicator& all) const override;

    void zero_gradients() override;

    /// In training keeps the inputs for judge(), and returns nothing. In with_weights() gathers the
    /// scores of all tokens and words.
    at::Tensor forward(const at::Tensor& inputs) override;

    /// Forward and backward of all micro-batches. What is returned is the same on all ranks with the
    /// same examples; backward() from this loss has nothing left to do.
    Judged judge(const at::Tensor& scores, const at::Tensor& labels, const Judge& task) override;

    void with_weights(const std::function<void()>& body) override;
    void prepare_for_backward(const at::Tensor& loss) override;
    void exchange_gradients() override;

    /// Only where --zero cuts nothing.
    double clip_gradients(double limit) override;
    void step(double rate) override;
    void expect_equal(std::size_t done) const override;

    /// Of the names and shapes that one process has, whatever the mesh.
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

    /// What pp, cp and tp send goes over their groups.
    [[nodiscard]] const DeviceMesh& mesh() const { return mesh_; }

    /// The ranks that are told a loss: of tp, cp and pp.
    [[nodiscard]] const Communicator& same_examples() const { return same_examples_; }

    /// Of this rank's stages.
    [[nodiscard]] std::vector<at::Tensor> parameters() const;

  private:
    /// A part of the model, and the way in which ranks that hold it alike share it.
    struct Stage {
        int number;
        std::shared_ptr<nn::Model> model;
        std::unique_ptr<Strategy> data;
    };

    /// One of the whole model's parameters.
    struct Parameter {
        std::string name;
        std::vector<std::int64_t> shape;
    };

    /// This rank's stages, for micro-batches of so many examples.
    [[nodiscard]] std::vector<PipelineStage> stages_for(std::int64_t examples) const;

    /// "momentum_buffer": what the optimizers have kept of each parameter.
    ///
    /// parts  this rank's, as in a checkpoint.
    [[nodiscard]] std::vector<std::string> kept_in(const StateDict& parts) const;

    /// A tensor of the whole model, by the parts of all ranks that hold one copy of it.
    [[nodiscard]] at::Tensor joined(
        const Parameter& parameter, const std::string& key, const StateDict& parts
    ) const;

    ParallelOptions options_;
    const Communicator& comm_;
    DeviceMesh mesh_;
    Communicator same_parameters_;  // dp and cp: their gradients are averaged
    Communicator same_examples_;    // tp, cp and pp
    Communicator one_copy_;         // tp and pp: together they have the whole model
    at::Tensor tokens_;             // of each example, this rank's
    std::vector<Parameter> parameters_;
    std::vector<Stage> stages_;  // of this rank
    Schedule training_;
    Schedule evaluation_;
    at::Tensor inputs_;  // of this step
    bool in_test_ = false;
};

}  // namespace dist::trainer
