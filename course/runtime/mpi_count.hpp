// Lengths for MPI, which counts with int.
#pragma once

#include <cstddef>
#include <utility>

#include "course/runtime/error.hpp"

namespace dist {

/// `n` elements, as the int that MPI takes.
///
/// Errors  std::invalid_argument if n is more than an int holds.
inline int mpi_count(std::size_t n) {
    expects(std::in_range<int>(n), "mpi_count: a message holds at most 2^31 - 1 elements");
    return static_cast<int>(n);
}

}  // namespace dist
