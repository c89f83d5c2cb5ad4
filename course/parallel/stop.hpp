// The end of a run that every rank knows of.
#pragma once

#include <stdexcept>
#include <string>

namespace dist::trainer {

/// Thrown on every rank alike: rank 0 prints the text, one line that says what to do, and all exit
/// with `status`: 2 for what was asked in a way that cannot be done, 1 for what went wrong on the
/// way.
class Stop : public std::runtime_error {
  public:
    explicit Stop(const std::string& text, int status = 2)
        : std::runtime_error(text), status_(status) {}

    [[nodiscard]] int status() const { return status_; }

  private:
    int status_;
};

}  // namespace dist::trainer
