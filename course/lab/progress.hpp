// How far a measurement is.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// One line on standard error that is written over and over, and wiped out at the end.
class Progress {
  public:
    Progress(bool wanted, const Communicator& comm)
        : shown_(comm.rank() == 0 && (wanted || isatty(STDERR_FILENO) != 0)) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    Progress(Progress&&) = delete;
    Progress& operator=(Progress&&) = delete;
    ~Progress() {
        if (shown_) {
            fmt::print(stderr, "\r{:<60}\r", "");
        }
    }

    void show(const std::string& what, double fraction) {
        const int percent = static_cast<int>(fraction * 100);
        if (shown_ && percent != last_) {
            fmt::print(stderr, "\r{:<60}", fmt::format("{}: {} %", what, percent));
            last_ = percent;
        }
    }

  private:
    bool shown_;
    int last_ = -1;
};

}  // namespace dist::lab
