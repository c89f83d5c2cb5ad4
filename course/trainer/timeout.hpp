// --timeout: a rank that keeps the others waiting is named, and ends the run.
#pragma once

#include <atomic>
#include <span>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// Watches over the ranks' messages while it lives. If a rank has waited for one for longer than the
/// limit, it prints who does not wait, as who is stopped or too slow does, and ends the job with status 1.
class Timeout {
  public:
    /// comm    ranks on one machine; collective. It outlives this.
    ///
    /// Errors  dist::Error if there is no shared memory.
    Timeout(double limit_s, const Communicator& comm);
    ~Timeout();
    Timeout(const Timeout&) = delete;
    Timeout& operator=(const Timeout&) = delete;
    Timeout(Timeout&&) = delete;
    Timeout& operator=(Timeout&&) = delete;

  private:
    void look(double waited_s) const;

    double limit_s_;
    const Communicator& comm_;
    std::span<std::atomic<double>> waits_until_;  ///< of each rank: when it last said that it waits
};

}  // namespace dist::trainer
