// What a rank that waits for a message does after half a second, in programs with patient_calls.cpp.
#pragma once

#include <functional>

namespace dist {

/// From now on, `told` is called again and again by every thread that has waited for more than half a
/// second in one MPI call, with the seconds so far. Set before there are such threads.
void on_long_wait(std::function<void(double waited_s)> told);

}  // namespace dist
