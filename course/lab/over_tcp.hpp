// The transport of chapter 04 in the bench's process: a library of its own, since it brings an MPI of its own.
#pragma once

#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"

namespace dist::lab {

/// Completes the row `tcp`, if there is one, from the library; takes it out if that cannot be.
///
/// algorithms  in and out.
/// library     path; empty if there is none.
/// nodes       on how many machines the ranks are: they meet on one.
///
/// Returns why it was taken out, empty if it was not. Every rank of `comm` makes this call.
std::string load_over_tcp(
    std::vector<Algorithm>& algorithms,
    const std::string& library,
    int nodes,
    const Communicator& comm
);

}  // namespace dist::lab
