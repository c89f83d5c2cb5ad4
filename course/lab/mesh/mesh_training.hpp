// A GPT that trains on a mesh, for bench mesh.
#pragma once

#include <ATen/core/Tensor.h>
#include <array>
#include <cstddef>
#include <memory>

#include "course/lab/mesh/mesh_results.hpp"
#include "course/nn/memory.hpp"
#include "course/parallel/three_d.hpp"
#include "course/trainer/options.hpp"

namespace dist::lab {

/// As `train` would read them: it says which mesh cannot cut this model or batch.
///
/// Errors  Stop.
trainer::Options trainer_options(const MeshOptions& options, const trainer::MeshShape& mesh);

/// A mesh of all ranks, and a model on it. All calls are collective.
class MeshTraining {
  public:
    MeshTraining(const trainer::Options& options, const Communicator& comm);

    void step();

    /// Seconds in messages, of the last step.
    [[nodiscard]] double waited_s() const { return waited_s_; }

    /// What a step sends, and what is held. This rank has no other model.
    ///
    /// before  what was held before this was made.
    MeshBytes measure_bytes(const nn::MemoryBytes& before);

    [[nodiscard]] MeshBytes formula() const;

  private:
    void begin_gradients() const;

    /// Bytes so far, by dimension.
    [[nodiscard]] std::array<std::size_t, 4> sent() const;

    trainer::Options options_;
    trainer::Trace trace_;
    std::unique_ptr<trainer::ThreeD> way_;
    at::Tensor words_;  // (B, T + 1): each is followed by the next
    double waited_s_ = 0;
};

}  // namespace dist::lab
