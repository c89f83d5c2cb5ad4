// Threads that come between the steps of others.
#pragma once

namespace dist::harness {

/// While it lives, whoever unlocks a mutex lets others go first, for a while: what is done in two
/// steps, with the lock let go in between, is sure to be seen.
class Interleaved {
  public:
    Interleaved();
    ~Interleaved();  // NOLINT(performance-trivially-destructible): it is not, on real processes
    Interleaved(const Interleaved&) = delete;
    Interleaved& operator=(const Interleaved&) = delete;
};

}  // namespace dist::harness
