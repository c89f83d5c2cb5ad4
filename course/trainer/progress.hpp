// What a person sees while the network trains.
#pragma once

#include <cstddef>
#include <string>

#include "course/runtime/clock.hpp"

namespace dist::trainer {

/// Where an epoch stands.
struct Status {
    std::size_t epoch = 0;  ///< from 1
    std::size_t epochs = 0;
    std::size_t step = 0;  ///< done in this epoch
    std::size_t steps = 0;
    double loss = 0;              ///< mean over the epoch so far
    double accuracy = 0;          ///< 0 to 1, in training, over the epoch so far
    double seen_per_s = 0;        ///< over all ranks; ...
    std::string unit = "images";  ///< ... of what
};

/// One line of text for a status, without a line end.
///
/// bar      with a bar that fills.
/// columns  that there are for it: a bar is the shorter.
std::string to_string(const Status& status, bool bar, std::size_t columns = std::string::npos);

/// Columns of the terminal that shows what this rank prints; npos: of none, or they are not known.
std::size_t columns_shown();

/// Lines of at most so many columns, broken between words; what follows is indented.
std::string wrapped(const std::string& text, std::size_t columns);

/// Prints statuses on standard output: on a terminal one line that changes, ten times a second at
/// most; elsewhere a line every ten seconds. Colour only on a terminal, and not when the
/// environment has NO_COLOR.
class Progress {
  public:
    /// quiet  prints nothing: every rank but one.
    explicit Progress(bool quiet);

    void show(const Status& status);

    /// Prints a line that stays, in the bar's place.
    void print(const std::string& line);

  private:
    bool quiet_;
    bool terminal_;
    bool colour_;
    std::size_t columns_;
    bool bar_shown_ = false;
    Stopwatch since_shown_;
};

}  // namespace dist::trainer
