// Work that can fail on one rank alone, done so that all ranks hear of it.
#pragma once

#include <functional>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Does `work` on every rank. If it throws on any, every rank throws, so that nobody waits for a
/// rank that has gone.
///
/// comm    collective: every rank of `comm` makes this call.
/// status  the exit status, should it fail.
///
/// Errors  Stop, with the text of the first rank that failed.
void together(const Communicator& comm, const std::function<void()>& work, int status = 2);

}  // namespace dist::trainer
