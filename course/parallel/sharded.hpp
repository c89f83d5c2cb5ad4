// What the ways share whose optimizer has shards: they are cut from rows, and collected into whole tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/parallel/whole_model.hpp"

namespace dist::trainer {

/// Parameters that lie side by side in a row, p shards long.
struct NamedRow {
    std::vector<std::string> names;
    std::vector<std::vector<std::int64_t>> shapes;
};

using Key = std::function<std::string(const std::string& name)>;

/// Adds the whole tensors of a row, of which each rank has its shard, to rank 0's `state`.
///
/// key   of each name in `state`.
/// comm  collective.
void collect(
    StateDict& state,
    const NamedRow& row,
    const Key& key,
    const at::Tensor& shard,
    const Communicator& comm
);

/// Adds what this rank's shard has of the row's tensors.
void add_parts(
    std::vector<StatePart>& parts,
    const NamedRow& row,
    const Key& key,
    const at::Tensor& shard,
    const Communicator& comm
);

/// This rank's shard of the row that collect() took apart.
///
/// Errors  std::out_of_range if a tensor is not there, c10::Error if one has another shape.
at::Tensor cut(
    const StateDict& state, const NamedRow& row, const Key& key, const Communicator& comm
);

/// What an optimizer keeps of the shards of these rows, as optimizer_state() has it of whole parameters.
void collect_optimizer_state(
    StateDict& state,
    const std::vector<NamedRow>& rows,
    const nn::Optimizer& optimizer,
    const Communicator& comm
);

void add_optimizer_parts(
    std::vector<StatePart>& parts,
    const std::vector<NamedRow>& rows,
    const nn::Optimizer& optimizer,
    const Communicator& comm
);

/// Takes what optimizer_state() or collect_optimizer_state() gave.
void load_sharded_optimizer_state(
    nn::Optimizer& optimizer,
    const std::vector<NamedRow>& rows,
    const StateDict& state,
    const Communicator& comm
);

/// Equal weights on all ranks, and an optimizer that has their shards.
class ShardedState : public WholeModel {
  public:
    [[nodiscard]] StateDict state_dict() const override;
    [[nodiscard]] std::vector<StatePart> parts() const override;
    void load_state_dict(const StateDict& state) override;

  protected:
    using WholeModel::WholeModel;

    /// The rows of these parameters, by numbers.
    void set_rows(const std::vector<std::vector<std::size_t>>& rows);

    [[nodiscard]] virtual nn::Optimizer& optimizer() const = 0;

  private:
    std::vector<NamedRow> rows_;
};

}  // namespace dist::trainer
