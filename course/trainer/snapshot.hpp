// A checkpoint that is written beside training, in parts: exercise snapshot, with what a run needs to go on. --async-save
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/parallel/state_parts.hpp"
#include "course/runtime/communicator.hpp"
#include "course/trainer/checkpoint.hpp"
#include "exercises/10_elastic/snapshot.hpp"

namespace dist::trainer {

/// Copies this rank's parts, which a thread writes. They may be changed afterwards.
///
/// run     see describe_run.
/// parts   those of rank 0 name all tensors, also where it has no element of one.
/// comm    collective: every rank of `comm` makes this call.
///
/// Errors  as Snapshots::take: also those of the snapshot before.
void take_snapshot(
    Snapshots& snapshots,
    const std::string& run,
    const Steps& steps,
    const std::vector<StatePart>& parts,
    const Communicator& comm
);

/// What a folder has to go on from.
enum class Saved { nothing, in_a_file, in_parts };

/// Of a checkpoint in a file and one in parts, the one of the later step. Rank 0 looks.
///
/// comm    collective: every rank of `comm` makes this call.
///
/// Errors  Stop, on every rank, if one of two is damaged.
Saved find_saved(const std::filesystem::path& folder, const Communicator& comm);

/// The file that makes it a checkpoint.
std::filesystem::path file_of(Saved saved, const std::filesystem::path& folder);

/// Reads it, whatever run it is of, on as many ranks as wrote it or on others: whole tensors, on each rank.
///
/// comm    collective: every rank of `comm` makes this call.
///
/// Errors  as read_checkpoint or load_snapshot; the latter's are the same on all ranks.
Checkpoint read_saved(Saved saved, const std::filesystem::path& folder, const Communicator& comm);

}  // namespace dist::trainer
