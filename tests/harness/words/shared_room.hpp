// Memory that all ranks see.
#pragma once

#include <cstddef>

namespace dist::harness {

/// `bytes` bytes, zeros at first, the same on every rank that asks by this name. They stay until the job ends.
/// Errors  std::runtime_error
void* shared_room(const char* name, std::size_t bytes);

}  // namespace dist::harness
