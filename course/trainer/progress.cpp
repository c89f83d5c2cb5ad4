#include "course/trainer/progress.hpp"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace dist::trainer {

namespace {

constexpr std::size_t kBarWidth = 24;

// A rank cannot see it: Open MPI gives every rank a terminal of its own, whatever mpirun's output is. Who starts
// mpirun says it.
bool output_is_terminal() {
    const char* const told = std::getenv("SHARDLINGS_TERMINAL");
    return told != nullptr && std::string_view(told) == "1";
}

bool colours_are_refused() {
    const char* const refused = std::getenv("NO_COLOR");
    return refused != nullptr && *refused != '\0';
}

}  // namespace

std::string to_string(const Status& status, bool bar) {
    std::string text = fmt::format("epoch {}/{} ", status.epoch, status.epochs);
    if (bar) {
        const std::size_t filled = kBarWidth * status.step / status.steps;
        text += fmt::format("[{:=<{}}{:{}}] ", "", filled, "", kBarWidth - filled);
    } else {
        text += fmt::format("step {}/{}: ", status.step, status.steps);
    }
    return text + fmt::format(
                      "loss {:.3f}  accuracy {:.1f} %  {:.0f} images/s", status.loss,
                      100 * status.accuracy, status.images_per_s
                  );
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      terminal_(!quiet && output_is_terminal()),
      colour_(terminal_ && !colours_are_refused()) {}

void Progress::show(const Status& status) {
    const double pause_s = terminal_ ? 0.1 : 10;
    if (quiet_ || since_shown_.elapsed_s() < pause_s) {
        return;
    }
    since_shown_.lap_s();
    if (terminal_) {
        const std::string text = to_string(status, true);
        // back to the line's start, and what was there is wiped out
        fmt::print("\r\033[K{}", colour_ ? fmt::format("\033[36m{}\033[0m", text) : text);
        bar_shown_ = true;
    } else {
        fmt::print("{}\n", to_string(status, false));
    }
    std::fflush(stdout);
}

void Progress::print(const std::string& line) {
    if (quiet_) {
        return;
    }
    fmt::print("{}{}\n", bar_shown_ ? "\r\033[K" : "", line);
    bar_shown_ = false;
    std::fflush(stdout);
}

}  // namespace dist::trainer
