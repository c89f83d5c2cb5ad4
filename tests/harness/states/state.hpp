// What each program of this folder implements: the code under test of
// tests/harness/states_test.cpp.
#pragma once

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Does something that the harness must name. Called on every rank of `comm`.
void state(const Communicator& comm);

}  // namespace dist
