// Where Gloo's own threads run.
#pragma once

#include <cstring>
#include <sched.h>

namespace dist::lab {

/// Threads that this one starts while it lives may run on every core, where the bench binds its ranks to one each; and they wait for
/// a core until it is given up (SCHED_BATCH). Gloo's thread asks again and again for a lock that its rank holds: with the core taken
/// from that rank, both would wait for the kernel's next look at them, which is 4 ms for a call of a tenth of one.
class GloosThreads {
  public:
    GloosThreads() {
        sched_getaffinity(0, sizeof own_, &own_);
        cpu_set_t all;
        std::memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        const sched_param none{};
        sched_setscheduler(0, SCHED_BATCH, &none);
    }
    ~GloosThreads() {
        sched_setaffinity(0, sizeof own_, &own_);
        const sched_param none{};
        sched_setscheduler(0, SCHED_OTHER, &none);
    }
    GloosThreads(const GloosThreads&) = delete;
    GloosThreads& operator=(const GloosThreads&) = delete;

  private:
    cpu_set_t own_{};
};

}  // namespace dist::lab
