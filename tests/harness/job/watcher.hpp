// Every rank is two processes: the one that runs the tests, and its parent, which watches over it.
#pragma once

#include <string>

namespace dist::harness {

/// Forks. Returns true in the child, which goes on to be the rank. The parent stays inside until the
/// child has ended, enforces the limits (memory, output, CPU time without progress), and writes to the
/// board how the child ended; then it returns false.
bool fork_watched_rank(const std::string& output_file);

}  // namespace dist::harness
