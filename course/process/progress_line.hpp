// The one line that says how far long work is.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace dist::cli {

/// On standard error: on a terminal a line in its place, which goes when the work is done; elsewhere
/// a line now and then. Short work shows nothing.
class ProgressLine {
  public:
    ProgressLine();
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const std::string& text);
    /// Makes room for other lines; on a terminal.
    void clear();

  private:
    using Clock = std::chrono::steady_clock;
    std::mutex one_at_a_time_;
    bool terminal_;
    bool visible_ = false;
    Clock::time_point next_;
};

/// "2 min", "40 s": how long the rest takes, when `done` of `all` took `seconds`.
std::string time_left(double seconds, std::size_t done, std::size_t all);

}  // namespace dist::cli
