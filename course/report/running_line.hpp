// Which test runs at the moment.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "course/process/context.hpp"
#include "course/process/progress_line.hpp"

namespace dist::cli {

/// While it lives, the test that the ranks are in, and for how many seconds, as a ProgressLine.
class RunningLine {
  public:
    /// Listens to Context::running until it goes.
    explicit RunningLine(Context& context);
    ~RunningLine();
    RunningLine(const RunningLine&) = delete;
    RunningLine& operator=(const RunningLine&) = delete;

    /// Makes room for other lines.
    void clear();

  private:
    using Clock = std::chrono::steady_clock;

    void show(std::string_view what);

    Context& context_;
    std::optional<ProgressLine> line_;  // from the first test on: builds show their own
    std::string what_;
    Clock::time_point since_;
    std::string shown_;
};

}  // namespace dist::cli
