// What a message carries, as `trace --html` shows it.
#pragma once

#include <mpi.h>

#include "course/trace/step.hpp"

namespace dist::harness {

/// Where it stands, and its first values, spelt as its type is; nothing where nobody traces.
///
/// user     the code under test's buffer; without an address if elements do not lie side by side
/// packed   `bytes` bytes
trace::Payload payload_of(const void* user, const char* packed, int bytes, MPI_Datatype type);

}  // namespace dist::harness
