#include "course/process/progress_line.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "course/process/screen.hpp"

namespace dist::cli {
namespace {

constexpr auto kSoon = std::chrono::milliseconds(1500);
constexpr auto kNowAndThen = std::chrono::seconds(10);
constexpr double kMinute = 60;

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(obeys_escapes(STDERR_FILENO)),
      next_(Clock::now() + (terminal_ ? Clock::duration(kSoon) : Clock::duration(kNowAndThen))) {}

void ProgressLine::show(const std::string& text) {
    const std::lock_guard lock(one_at_a_time_);
    if (Clock::now() < next_) {
        return;
    }
    if (!terminal_) {
        next_ = Clock::now() + kNowAndThen;
    }
    visible_ = terminal_;
    if (terminal_) {  // a line that wraps cannot be cleared
        fmt::print(stderr, "\r\033[K{}", text.substr(0, columns_of(STDERR_FILENO) - 1));
    } else {
        fmt::print(stderr, "{}\n", text);
    }
    std::fflush(stderr);
}

void ProgressLine::clear() {
    const std::lock_guard lock(one_at_a_time_);
    if (visible_) {
        fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
        visible_ = false;
    }
}

std::string time_left(double seconds, std::size_t done, std::size_t all) {
    if (done == 0) {
        return "?";
    }
    const double rest = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    return rest < kMinute ? fmt::format("{:.0f} s", rest)
                          : fmt::format("{:.0f} min", rest / kMinute);
}

}  // namespace dist::cli
