// How a command ends when it cannot do what was asked.
#pragma once

#include <stdexcept>
#include <string>

namespace dist::cli {

/// What `shardlings` exits with.
namespace exit_status {
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kBuildError = 3;
inline constexpr int kHang = 4;
inline constexpr int kCrash = 5;
inline constexpr int kSkipped = 6;
inline constexpr int kOurs = 70;
inline constexpr int kInterrupted = 130;
}  // namespace exit_status

/// One clear line that says what to do, and the exit status. Only main catches it and prints it.
class CommandError : public std::runtime_error {
  public:
    CommandError(int status, const std::string& line) : std::runtime_error(line), status_(status) {}
    [[nodiscard]] int status() const { return status_; }

  private:
    int status_;
};

/// A wrong argument: exit status 2.
class UsageError : public CommandError {
  public:
    explicit UsageError(const std::string& line) : CommandError(exit_status::kUsage, line) {}
};

/// Ctrl-C, or Context::cancelled said so: everything that ran was stopped; exit status 130.
class Interrupted : public CommandError {
  public:
    Interrupted() : CommandError(exit_status::kInterrupted, "stopped") {}
};

}  // namespace dist::cli
