// Exercise 07: a checkpoint in parts. Each rank writes what it holds, and any number of ranks reads it.
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

/// What this rank's shard of a row holds of the tensors that lie side by side in that row: one part for each
/// tensor of which it holds an element, in their order. Of what fills the row up there is none.
///
/// names    of the tensors: names[i] is that of tensors[i].
/// tensors  in their order, as for views_of(). What their values are is of no matter.
/// shard    (n / p rounded up), n the elements of all tensors: as shard_of() cuts it, or what an optimizer
///          keeps of that. Parts are views of it.
///
/// Cost     no message, no copy.
/// Errors   std::invalid_argument if a tensor has no name, or the shard is of another length.
std::vector<nn::TensorPart> parts_of_shard(
    std::span<const std::string> names,
    std::span<const at::Tensor> tensors,
    const at::Tensor& shard,
    const Communicator& comm
);

/// Writes each rank's parts into a file of its own, and then the index, which makes them a checkpoint:
///
///     folder/part-SAVE-RANK    of each rank; SAVE is a number that no other save has, also of the same step
///     folder/index             of rank 0, when all parts are there
///
/// Each file comes by nn::to_bytes and files::write_atomically. The checkpoint that was there before is whole
/// until the new index takes the place of its own; when this returns, its files are gone, and so are those
/// that an unfinished save has left: all whose names begin with "part-".
///
/// folder  on a disk that all ranks see; the same on all of them. Is made if it is not there.
/// step    of the training; the same on all ranks.
/// parts   of any tensors, in any order; also none. Different ranks may give the same elements.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    a few messages of a few floats; no element is sent.
/// Errors  std::runtime_error if a rank cannot write, with that rank's reason, the same text on all ranks:
///         then the folder's files are those of before. dist::Error if a message fails: what is in the folder
///         then is the checkpoint of before, or the new one if its index is there.
void save_sharded(
    const std::filesystem::path& folder,
    std::int64_t step,
    std::span<const nn::TensorPart> parts,
    const Communicator& comm
);

/// Reads what save_sharded wrote, on this number of ranks or on another: fills the data of the wanted parts,
/// however the tensors were cut, and by whichever ranks.
///
/// folder   as for save_sharded.
/// wanted   parts, whose data get the elements; also none. Each rank wants its own.
/// comm     collective: every rank of `comm` makes this call.
/// returns  the step.
///
/// Cost     a few messages of a few floats. Each rank reads all files, and holds one of them at a time, and
///          its parts once more.
/// Errors   std::runtime_error, the same text on all ranks, and on none of them is anything changed: if there
///          is no index; naming the file, if one of the save's parts is not there, is damaged, or of another
///          save; naming the tensor, if it was saved with another number of elements or another dtype, or
///          if an element is in no part. dist::Error if a message fails.
/// Source   PyTorch, torch/distributed/checkpoint.
std::int64_t load_sharded(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    const Communicator& comm
);

}  // namespace dist
