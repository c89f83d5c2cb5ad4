// What a program's main() needs: MPI started and ended, and an error that ends the whole job
// instead of hanging it.
#pragma once

#include <functional>

#include "course/runtime/communicator.hpp"

namespace dist {

/// Starts MPI (MPI_THREAD_MULTIPLE), runs `body` with the world, ends MPI.
///
/// An exception that leaves `body` is printed once, with its rank, and ends the job on every rank.
/// Returns what `body` returns: the exit status for main().
int run_main(int argc, char** argv, const std::function<int(const Communicator&)>& body);

}  // namespace dist
