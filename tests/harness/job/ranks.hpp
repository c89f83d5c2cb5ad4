// How one loaded program becomes all ranks of a job.
#pragma once

namespace dist::harness {

/// Forks, once for each rank of the job, as soon as mpirun's process for that rank has come. Returns in
/// each of them, with that process's environment, and in its process group; the caller's process stays
/// inside until all have ended, says on the board how each did, and exits. Call with the board open,
/// before any thread is started.
///
/// returns  the rank
int fork_ranks(int size);

/// Moves what this rank will allocate away from where others have it: forked from one process, they would
/// have it in the same place, and a pointer would seem to mean something on another rank.
void shift_memory(int rank);

}  // namespace dist::harness
