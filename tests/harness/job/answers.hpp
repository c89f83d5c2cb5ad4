// Several answers in one started job, each as if it ran alone: what `check` does with wrong answers.
#pragma once

#include <functional>
#include <string>

namespace dist::harness {

/// Whether this job tries several answers.
bool tries_several();

/// Loads the answer under test, and its test, from a shared object.
/// Errors  std::runtime_error
void load_answer(const std::string& library);

/// Writes its records into a folder; does not return.
using TryOne = std::function<void(const std::string& folder, const std::string& library)>;

/// Calls `try_one` for each answer of the list, in a process forked for that answer alone. Call in every rank after MPI has
/// started. Returns when all answers have been tried.
void for_each_answer(const TryOne& try_one);

}  // namespace dist::harness
