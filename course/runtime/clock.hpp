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

/// A clock that is handed to who waits: in a test, time is what the test says.
class Clock {
  public:
    using Duration = std::chrono::milliseconds;

    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    /// Time since some moment in the past; only differences mean anything, on one machine.
    virtual Duration now() = 0;

    /// Returns when so much time has passed. 0: lets others go on.
    virtual void sleep(Duration duration) = 0;
};

/// The machine's own, which never goes back.
class SteadyClock : public Clock {
  public:
    Duration now() override;
    void sleep(Duration duration) override;
};

}  // namespace dist
