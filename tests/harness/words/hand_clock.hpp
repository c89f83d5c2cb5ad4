// A clock that says what the test says.
#pragma once

#include <atomic>
#include <cstdint>

#include "course/runtime/clock.hpp"

namespace dist::harness {

/// Threads may look at it at the same time.
class HandClock : public Clock {
  public:
    std::atomic<std::int64_t> now_ms = 0;

    Duration now() override { return Duration(now_ms); }
    void sleep(Duration duration) override { now_ms += duration.count(); }
};

}  // namespace dist::harness
