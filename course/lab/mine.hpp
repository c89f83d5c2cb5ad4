// The student's own code in the bench's process: a library of its own, so that both the reference
// and the student's functions of the same name are there at once.
#pragma once

#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"

namespace dist::lab {

/// Completes the row `mine`, if there is one, from the library; takes it out if that cannot be.
///
/// algorithms  in and out.
/// library     path; empty if there is none.
///
/// Returns why it was taken out, empty if it was not. Every rank of `comm` makes this call.
std::string load_mine(
    std::vector<Algorithm>& algorithms, const std::string& library, const Communicator& comm
);

}  // namespace dist::lab
