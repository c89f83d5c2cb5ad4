// Memory that all ranks of one machine see: no message is needed to pass data on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <mpi.h>

#include "course/runtime/communicator.hpp"

namespace dist {

/// One part of `n` floats for each rank of a communicator, in a window of memory that all of its ranks
/// can read and write. The values are of no particular value at first.
///
/// What one rank writes, another may read only after both have called synchronize().
class SharedBuffer {
  public:
    /// n       floats in each rank's part; the same on every rank.
    /// comm    ranks on one machine; collective. It must outlive the buffer.
    ///
    /// Errors  dist::Error if the ranks do not share memory, or there is too little of it.
    SharedBuffer(std::size_t n, const Communicator& comm);
    SharedBuffer(const SharedBuffer&) = delete;
    SharedBuffer& operator=(const SharedBuffer&) = delete;

    /// Collective.
    ~SharedBuffer();

    /// Floats in one part.
    [[nodiscard]] std::size_t size() const { return size_; }

    /// The part of `rank`, in this rank's address space.
    [[nodiscard]] std::span<float> of(int rank) const {
        return {parts_[static_cast<std::size_t>(rank)], size_};
    }

    /// A barrier: returns when every rank has called it. What any of them wrote before is seen after.
    void synchronize() const;

  private:
    std::size_t size_;
    const Communicator& comm_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<float*> parts_;
};

}  // namespace dist
