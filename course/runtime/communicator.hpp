// A group of ranks that talk to each other: RAII over MPI_Comm.
#pragma once

#include <mpi.h>

namespace dist {

/// A communicator: `size()` processes, numbered 0 to size() - 1; this one is `rank()`.
///
/// Invariant  Failed calls on handle() return an error code (MPI_CHECK turns it into an exception);
///            they do not end the job. A communicator that owns its handle frees it; world() and
///            borrow() do not own theirs.
class Communicator {
  public:
    /// All processes of the job.
    static Communicator world();

    /// A view of a handle that somebody else frees.
    static Communicator borrow(MPI_Comm handle);

    Communicator(Communicator&& other) noexcept;
    Communicator& operator=(Communicator&& other) noexcept;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

    /// This process's number, 0 <= rank() < size(); -1 in the empty communicator.
    [[nodiscard]] int rank() const { return rank_; }

    /// How many processes there are; 0 in the empty communicator.
    [[nodiscard]] int size() const { return size_; }

    /// The handle for MPI calls.
    [[nodiscard]] MPI_Comm handle() const { return handle_; }

    /// Ranks that give the same color form a group of their own, ordered by key, then by rank here.
    ///
    /// color   >= 0, or MPI_UNDEFINED for "in no group": the empty communicator is returned.
    /// Cost    collective: every rank of this communicator makes this call.
    [[nodiscard]] Communicator split(int color, int key = 0) const;

    /// The same ranks with messages of their own: what is sent here is never received there.
    ///
    /// Cost    collective: every rank of this communicator makes this call.
    [[nodiscard]] Communicator dup() const;

  private:
    Communicator(MPI_Comm handle, bool owned);

    MPI_Comm handle_ = MPI_COMM_NULL;
    int rank_ = -1;
    int size_ = 0;
    bool owned_ = false;
};

}  // namespace dist
