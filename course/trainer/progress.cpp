#include "course/trainer/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

namespace dist::trainer {

namespace {

constexpr std::size_t kBarWidth = 24;

// A rank cannot see it: Open MPI gives every rank a terminal of its own, whatever mpirun's output is. Who
// starts mpirun says how many columns it has, 1 where that is not known, or 0: it is no terminal.
std::size_t told_columns() {
    const char* const told = std::getenv("SHARDLINGS_TERMINAL");
    return told == nullptr ? 0 : std::strtoul(told, nullptr, 10);
}

bool colours_are_refused() {
    const char* const refused = std::getenv("NO_COLOR");
    return refused != nullptr && *refused != '\0';
}

}  // namespace

std::string to_string(const Status& status, bool bar, std::size_t columns) {
    const std::string epoch = fmt::format("epoch {}/{} ", status.epoch, status.epochs);
    const std::string values = fmt::format(
        "loss {:.3f}  accuracy {:.1f} %  {:.0f} {}/s", status.loss, 100 * status.accuracy,
        status.seen_per_s, status.unit
    );
    if (!bar) {
        return epoch + fmt::format("step {}/{}: ", status.step, status.steps) + values;
    }
    const std::size_t others =
        epoch.size() + values.size() + 4;  // the brackets, a space, the cursor
    const std::size_t room = columns > others ? columns - others : 0;
    const std::size_t width = std::min(kBarWidth, room);
    const std::size_t filled = width * status.step / status.steps;
    return epoch + fmt::format("[{:=<{}}{:{}}] ", "", filled, "", width - filled) + values;
}

std::size_t columns_shown() {
    const std::size_t told = told_columns();
    return told > 1 ? told : std::string::npos;
}

std::string wrapped(const std::string& text, std::size_t columns) {
    std::string out;
    std::size_t begin = 0;                  // of the line, in `out`
    std::size_t space = std::string::npos;  // the last one in it
    for (const char c : text) {
        out += c;
        if (c == '\n') {
            begin = out.size();
            space = std::string::npos;
        } else if (c == ' ') {
            space = out.size() - 1;
        } else if (out.size() - begin > columns && space != std::string::npos && space > begin + 2) {
            out.replace(space, 1, "\n  ");
            begin = space + 1;
            space = std::string::npos;
        }
    }
    return out;
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      terminal_(!quiet && told_columns() > 0),
      colour_(terminal_ && !colours_are_refused()),
      columns_(columns_shown()) {}

void Progress::show(const Status& status) {
    const double pause_s = terminal_ ? 0.1 : 10;
    if (quiet_ || since_shown_.elapsed_s() < pause_s) {
        return;
    }
    since_shown_.lap_s();
    if (terminal_) {
        const std::string text = to_string(status, true, columns_);
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
    fmt::print("{}{}\n", bar_shown_ ? "\r\033[K" : "", wrapped(line, columns_));
    bar_shown_ = false;
    std::fflush(stdout);
}

}  // namespace dist::trainer
