// Exercise 07: a checkpoint in parts. Each rank writes what it holds, and any number of ranks can read it.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "course/nn/tensor_file.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Says what this rank's shard of a row holds of the tensors that lie side by side in that row: one part for each
/// tensor of which it holds an element, in their order. Padding is in no part.
///
/// names    names[i] is the name of tensors[i].
/// tensors  in their order, as for views_of(); only their lengths count.
/// shard    (n / p rounded up), n the elements of all tensors: as shard_of() cuts it, or what an optimizer
///          keeps for it. Parts are views of it.
///
/// Cost     no message, no copy.
/// Errors   std::invalid_argument if there are not as many names as tensors, or the shard has another length.
std::vector<nn::TensorPart> parts_of_shard(
    std::span<const std::string> names,
    std::span<const at::Tensor> tensors,
    const at::Tensor& shard,
    const Communicator& comm
);

/// Writes each rank's parts into a file of its own, and then the index, which makes them a checkpoint:
///
///     folder/part-SAVE-RANK    of each rank; SAVE is drawn for this save: no other has it, of any run
///     folder/index             of rank 0, when all parts are there
///
/// Each file is made by nn::to_bytes and files::write_atomically. The checkpoint of before is whole until the new
/// index takes the place of the old one. When this returns, the parts of all other saves are gone, also of
/// unfinished ones: all files whose names begin with "part-". One that cannot be removed stays, alone.
///
/// folder  on a disk that all ranks see; the same on all ranks. It is made if it is not there, at any depth.
/// step    of the training; the same on all ranks.
/// parts   of any tensors, in any order; also none. Several ranks may give the same elements.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    a few messages of a few floats; no element is sent.
/// Errors  std::runtime_error if a rank cannot write: all ranks throw that rank's text, whole, and the folder has
///         the files of before. dist::Error if a message fails: then the folder has the checkpoint of before, or
///         the new one if its index is there.
void save_sharded(
    const std::filesystem::path& folder,
    std::int64_t step,
    std::span<const nn::TensorPart> parts,
    const Communicator& comm
);

/// Reads what save_sharded wrote on this number of ranks or on another: fills the data of the wanted parts,
/// wherever the tensors were cut.
///
/// folder   as for save_sharded.
/// wanted   parts, whose data receive the elements; also none. Each rank wants its own.
/// comm     collective: every rank of `comm` makes this call.
/// returns  the step.
///
/// Cost     a few messages of a few floats. Each rank reads all files. It holds one file at a time, and a second
///          copy of its wanted parts.
/// Errors   std::runtime_error, with the same text on all ranks; then no wanted part has changed on any rank.
///          The text names the file by its path if the index or a part of the save is not there, is damaged, or is
///          of another save. It names the tensor if it was saved with another number of elements or another
///          dtype, or if an element is in no part. dist::Error if a message fails.
/// Source   PyTorch, torch/distributed/checkpoint.
std::int64_t load_sharded(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    const Communicator& comm
);

}  // namespace dist
