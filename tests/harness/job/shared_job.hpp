// A started job that tries one answer after the other, each as if it ran alone.
#pragma once

#include <functional>
#include <string>

namespace dist::harness {

/// Whether this is such a job.
bool is_shared_job();

/// Loads the answer under test, and its test, from a shared object.
/// Errors  std::runtime_error
void load_answer(const std::string& library);

/// Writes its records into a folder; does not return.
using TryOne = std::function<void(const std::string& folder, const std::string& library)>;

/// Calls `try_one` for each answer that the command hands in, in a process forked for that answer alone. Call in every rank
/// after MPI has started. Returns when mpirun ends the job.
void for_each_answer(const TryOne& try_one);

}  // namespace dist::harness
