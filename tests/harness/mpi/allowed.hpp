// Which MPI calls the code under test may make.
#pragma once

#include <mpi.h>

namespace dist::harness {

/// Ends the test as `forbidden` if the exercise asks to build `call`, or if it is made on
/// MPI_COMM_WORLD where a communicator was given. Passes outside of a test body.
///
/// Errors  ForbiddenCall, with the sentence for the student; Stopped if the test was stopped.
void check_allowed(const char* call, MPI_Comm comm, bool is_collective = false);

/// The same for a call that makes a communicator, which may be made from any.
void check_made(const char* call);

/// Ends the test as `forbidden`: a call that no exercise needs, and the layer does not watch.
[[noreturn]] void refuse(const char* call, const char* sentence);

/// From here on this process is no rank of MPI: whatever is called is refused, by this sentence. Once.
void forbid_all_calls(const char* sentence);

/// A Forbid of the test file was made: see harness.hpp.
void forbid_call(const char* call, const char* sentence);

}  // namespace dist::harness
