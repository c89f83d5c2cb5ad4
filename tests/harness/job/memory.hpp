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

/// From here on, to the end of the process, counts what the code under test holds by new, malloc or what calls them; what tensors
/// have is among it. The calling thread runs that code.
void count_heap();

/// What it holds now of that.
long heap_bytes();

/// The most that it held since forget_heap_peak().
long heap_peak_bytes();
void forget_heap_peak();

/// The calling thread runs code under test; others, of MPI or of a library, are not counted.
void count_this_thread();

/// What the threads that count_this_thread() have touched of their stacks, but for a little each: it counts as held.
long stack_bytes();
void count_stacks();

}  // namespace dist::harness
