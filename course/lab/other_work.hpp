// Whether the ranks have their cores to themselves while they are measured.
#pragma once

#include <sched.h>

#include "course/lab/machine.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// Tells how much of the ranks' cores others took. It knows by subtraction: what the kernel does
/// not count as idle, and no rank has used, somebody else has: another process, or another guest of
/// the same host.
class OtherWork {
  public:
    /// Every rank of `comm` makes this call, and all others.
    explicit OtherWork(const Communicator& comm);

    /// The share of the ranks' cores that others took since the last call, or since the beginning:
    /// 0 to 1, on the machine where it is largest. Where there are more cores than ranks, others
    /// may have the rest. 0 if that is less than 20 ms ago: the kernel counts idle time in steps of
    /// 10 ms.
    ///
    /// Returns  the same on every rank.
    double share();

  private:
    struct Used {
        double at_s = 0;
        double own_s = 0;   // processor time of this rank
        double idle_s = 0;  // of the cores of this machine
    };

    [[nodiscard]] Used now() const;

    const Communicator& comm_;
    RanksHere here_;
    cpu_set_t cores_;  // that these may run on
    Used before_;
};

}  // namespace dist::lab
