// Time: seconds from a clock that never goes back.
#pragma once

#include <chrono>

namespace dist {

/// Seconds since some moment in the past; only differences mean anything.
inline double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Measures the seconds since it was made, or since the last lap().
class Stopwatch {
  public:
    /// Seconds since the start or the last lap.
    [[nodiscard]] double elapsed_s() const { return now_s() - start_s_; }

    /// As elapsed_s(), and starts again.
    double lap_s() {
        const double end_s = now_s();
        const double lap = end_s - start_s_;
        start_s_ = end_s;
        return lap;
    }

  private:
    double start_s_ = now_s();
};

}  // namespace dist
