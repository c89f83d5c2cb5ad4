// Data, pipeline, context, tensor and expert parallel at once, as in chapter 08: a GPT on a mesh of
// ranks.
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
/// or of the tokens. What ranks hold alike, one of the ways of chapters 05 and 07 averages, or cuts
/// into shards: those of dp, cp and ep all but the experts, those of dp and cp the experts.
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

    /// Of dp and ep: all others see the same examples as some rank of these.
    [[nodiscard]] const Communicator& data_ranks(const Communicator& all) const override;

    /// Of dp: tokens of one rank of ep ask the experts of all, which are there only if all call
    /// forward(). In a test they do so with the same examples.
    [[nodiscard]] const Communicator& test_ranks(const Communicator& all) const override;

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

    /// Rank 0's, who gathers them.
    [[nodiscard]] std::vector<StatePart> parts() const override;
    void load_state_dict(const StateDict& state) override;

    /// What pp, cp and tp send goes over their groups.
    [[nodiscard]] const DeviceMesh& mesh() const { return mesh_; }

    /// The ranks that are told a loss: of tp, cp and pp.
    [[nodiscard]] const Communicator& same_examples() const { return same_examples_; }

    /// Of this rank's stages.
    [[nodiscard]] std::vector<at::Tensor> parameters() const;

  private:
    /// Parameters that the same ranks hold alike, and the way in which they share them.
    struct Share {
        std::shared_ptr<nn::Model> model;
        std::unique_ptr<Strategy> data;
    };

    /// A part of the model, whose forward is that of its share.
    struct Stage {
        int number;
        Strategy& data;
    };

    /// One of the whole model's parameters.
    struct Parameter {
        std::string name;
        std::vector<std::int64_t> shape;
    };

    /// This rank's stages, for micro-batches of so many examples.
    [[nodiscard]] std::vector<PipelineStage> stages_for(std::int64_t examples) const;

    /// Whether of all ranks that hold this part of a parameter in one copy of the model, this is the
    /// one that counts.
    [[nodiscard]] bool counts(const std::string& parameter) const;

    /// The name of one that this rank has, with all that an optimizer keeps of it.
    [[nodiscard]] std::string own_parameter() const;

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
    Communicator data_ranks_;     // dp and ep
    Communicator same_layers_;    // dp, ep and cp: gradients of all but the experts are averaged
    Communicator same_experts_;   // dp and cp: those of the experts are
    Communicator same_examples_;  // tp, cp and pp
    Communicator one_copy_;       // tp, pp and ep: together they have the whole model
    at::Tensor tokens_;           // of each example, this rank's
    std::vector<Parameter> parameters_;
    std::vector<Share> shares_;  // of this rank, stage by stage: the last one's are experts, if any
    std::vector<Stage> stages_;
    Schedule training_;
    Schedule evaluation_;
    at::Tensor inputs_;  // of this step
    bool in_test_ = false;
};

}  // namespace dist::trainer
