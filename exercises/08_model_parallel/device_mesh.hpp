// Exercise 08: ranks as a grid, whose lines are the groups of data, pipeline and tensor parallel training.
#pragma once

#include <string>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// One dimension of a mesh: "tp", cut into `size` parts.
///
/// name  not empty, and without '-', which stands between names.
/// size  >= 1.
struct MeshDim {
    std::string name;
    int size = 1;
};

/// Finds where a rank stands: its coordinate in each dimension, in the order of `dims`.
///
/// dims   at least one. The product of their sizes is the number of ranks.
/// order  all names of dims, once each, joined by '-'. Neighbouring ranks differ in the first: with "tp-dp-pp"
///        tp varies fastest, as in Megatron. PyTorch's init_device_mesh has the last dimension vary fastest:
///        its dp, tp is our "tp-dp".
/// rank   0 <= rank < number of ranks.
///
/// Cost    no message, and no loop over ranks.
/// Errors  std::invalid_argument if dims, order or rank are not as above, or the number of ranks is no int.
std::vector<int> mesh_coordinates(
    const std::vector<MeshDim>& dims, const std::string& order, int rank
);

/// Lists the groups along one dimension, or along several: ranks whose coordinates differ in these dimensions alone.
///
/// dims, order  as above.
/// names    "dp", or several joined by '-', in any order: "dp-cp".
/// returns  each rank in one group. Ranks ascend in a group, and groups ascend by their first ranks.
///
/// Cost    no message.
/// Errors  std::invalid_argument if dims or order are not as above, or names holds another name, or one twice.
/// Source  Megatron-LM, megatron/core/parallel_state.py, generate_masked_orthogonal_rank_groups.
std::vector<std::vector<int>> mesh_groups(
    const std::vector<MeshDim>& dims, const std::string& order, const std::string& names
);

/// The ranks of a communicator as a grid, with a group along each dimension.
///
/// It may be moved. References that group() gave stay valid then.
class DeviceMesh {
  public:
    /// Makes the groups.
    ///
    /// dims, order  as above, the same on every rank. The product of the sizes is comm.size().
    /// comm         outlives the mesh. Collective: every rank of `comm` makes this call.
    ///
    /// Cost    one comm.split() for each dimension, also for one of size 1 or comm.size(), in the order of
    ///         dims on every rank; no other message.
    /// Errors  std::invalid_argument, before any message, if dims and order are not as above.
    DeviceMesh(std::vector<MeshDim> dims, std::string order, const Communicator& comm);

    /// The group along a dimension: the ranks whose other coordinates are this rank's. Its rank there is its coordinate.
    ///
    /// Errors  std::invalid_argument that says the name, if no dimension has it; so do the next two.
    [[nodiscard]] const Communicator& group(const std::string& name) const;

    /// This rank's coordinate in a dimension, 0 <= coordinate < size.
    [[nodiscard]] int coordinate(const std::string& name) const;

    /// In how many parts a dimension is cut.
    [[nodiscard]] int size(const std::string& name) const;

    /// Makes one group along several dimensions: the ranks whose coordinates differ in these alone, in ascending order.
    ///
    /// names   at least one, in any order, none twice; the same on every rank. Collective: every rank of the
    ///         mesh makes this call.
    ///
    /// Cost    one split(), and no other message.
    /// Errors  std::invalid_argument, before any message, if names are not as above.
    [[nodiscard]] Communicator flatten(const std::vector<std::string>& names) const;

  private:
    std::vector<MeshDim> dims_;
    std::string order_;
    const Communicator* comm_;          // of all ranks
    std::vector<Communicator> groups_;  // of this rank, in the order of dims_
};

}  // namespace dist
