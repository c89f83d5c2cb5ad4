// What a rank leaves behind when it dies by a signal, is asked where it computes, or throws.
#pragma once

#include <array>
#include <csignal>

#include "course/protocol/protocol.hpp"

namespace dist::harness {

inline constexpr std::array<int, 5> kFatalSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// The signal by which the watching process asks where this rank computes for so long.
inline constexpr int kWhereSignal = SIGUSR2;

/// While it lives, a fatal signal leaves its address and stack on the board before the rank dies of
/// it, and kWhereSignal leaves the stack. Handlers that stood before come back afterwards.
class CrashReports {
  public:
    CrashReports();
    ~CrashReports();
    CrashReports(const CrashReports&) = delete;
    CrashReports& operator=(const CrashReports&) = delete;

  private:
    std::array<struct sigaction, kFatalSignals.size() + 1> before_{};
};

/// Where this thread last threw an exception in the code under test.
const Frames& last_throw();

/// If a disk that the job needs, or the memory that ranks share, is full: says on the board that the rank ends
/// because of that.
void note_if_full();

/// std::terminate in a rank whose test was stopped is not a crash: the exception that stops a test
/// could not pass a destructor or a thread's end. Installs a handler that tells the two apart.
void install_terminate_handler();

}  // namespace dist::harness
