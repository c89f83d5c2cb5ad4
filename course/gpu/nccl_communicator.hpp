// Ranks with a GPU each, that talk to each other through NCCL: RAII over ncclComm_t.
#pragma once

#include <nccl.h>

#include "course/gpu/stream.hpp"
#include "course/runtime/communicator.hpp"

namespace dist {

/// The GPU's counterpart of a Communicator: the same ranks, and a stream of this rank's GPU on which
/// all of its messages travel.
///
/// Note [Not yet] The ncclComm_t is a non-blocking one, because only such a one can be aborted when a
/// partner never comes. The price: an NCCL call may return before what it asks for is in the
/// stream. stream() waits for that, so ask for it anew for each piece of work, and do not keep it.
class NcclCommunicator {
  public:
    /// comm    whose ranks these are, in the same order; collective. Used here only, to pass on NCCL's
    ///         identifier from rank 0.
    ///
    /// Errors  dist::Error if there is no GPU, or NCCL cannot connect the ranks.
    explicit NcclCommunicator(const Communicator& comm);
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;
    /// Aborts: messages that are still on their way are lost.
    ~NcclCommunicator();

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    /// For NCCL's calls.
    [[nodiscard]] ncclComm_t handle() const { return handle_; }

    /// For NCCL's calls and for kernels: all that was asked of NCCL before is in it.
    ///
    /// Errors  dist::Error as wait()
    [[nodiscard]] cudaStream_t stream() const;

    /// Returns when all that was put into the stream has been done: the watchdog. It looks at NCCL and
    /// at the stream, and does not wait for ever.
    ///
    /// limit_s  seconds without an end after which this is taken for a deadlock.
    ///
    /// Errors   dist::Error if NCCL reports a failure, or time is up. The communicator is then
    ///          aborted, and of no further use.
    void wait(double limit_s = 30) const;

  private:
    void settle(double limit_s) const;
    [[noreturn]] void give_up(const char* what) const;

    int rank_;
    int size_;
    Stream stream_;
    mutable ncclComm_t handle_ = nullptr;  // null once it was aborted
};

/// Chooses this process's GPU, and lets NCCL know when processes have to share one. Before the first
/// NCCL call of a process; later calls change nothing.
///
/// Errors  dist::Error if there is no GPU.
void choose_gpu();

}  // namespace dist
