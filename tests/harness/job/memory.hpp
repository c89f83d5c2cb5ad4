// Which allocations are the code under test's: see memory_of() in harness.hpp.
#pragma once

namespace dist::harness {

/// While it lives, what this thread allocates is the layer's, the harness's or MPI's own.
class Uncounted {
  public:
    Uncounted();
    ~Uncounted();
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;
};

/// The calling thread runs code under test; others, of MPI or of a library, are not counted.
void count_this_thread();

}  // namespace dist::harness
