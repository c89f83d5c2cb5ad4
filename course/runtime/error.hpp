// The three ways in which course code fails, and the checks that raise them.
#pragma once

#include <stdexcept>
#include <string>

namespace dist {

/// A library call failed: MPI, CUDA or NCCL. The text names the call, the place and the library's
/// own reason.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Thrown by every stub, on every rank alike: the exercise is "not started", which is not "wrong".
class NotImplemented : public std::logic_error {
  public:
    explicit NotImplemented(const std::string& function)
        : std::logic_error(function + " is not implemented yet") {}
};

/// Checks a precondition of the function that calls it.
///
/// condition  what must hold.
/// sentence   says what was expected and of whom: "broadcast: root must be a rank of comm".
///
/// Errors     std::invalid_argument with that sentence if the condition does not hold.
void expects(bool condition, const char* sentence);

/// Turns an MPI return code into an exception. Use it through MPI_CHECK.
///
/// Errors     dist::Error if `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call, const char* file, int line);

}  // namespace dist

/// Makes an MPI call and throws dist::Error if it fails: MPI_CHECK(MPI_Send(...)).
#define MPI_CHECK(call) ::dist::check_mpi((call), #call, __FILE__, __LINE__)
