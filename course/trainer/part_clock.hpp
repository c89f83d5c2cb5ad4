// Where the time of a step goes: what a rank works, and what it waits for messages.
#pragma once

#include "course/runtime/clock.hpp"
#include "course/runtime/patient_calls.hpp"
#include "course/trainer/log.hpp"

namespace dist::trainer {

/// Measures one part of a step after the other, all on one thread.
class PartClock {
  public:
    PartClock() { start(); }

    /// A part begins.
    void start();

    /// A part ends, and the next one begins. Adds to the step's communication what this thread spent in messages,
    /// or slept while another thread of this process had some; adds what that thread did besides to what was hidden.
    ///
    /// Returns  the part's other seconds.
    double lap_s(StepRecord& step);

  private:
    Stopwatch wall_;
    MessageSeconds messages_;
    double asleep_s_ = 0;
};

}  // namespace dist::trainer
