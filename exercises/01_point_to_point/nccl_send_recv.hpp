// Exercise 01, for GPUs: a message from the memory of one GPU to the memory of another, by NCCL.
#pragma once

#include "course/gpu/check.hpp"
#include "course/gpu/device_span.hpp"
#include "course/gpu/nccl_communicator.hpp"

namespace dist {

/// Puts a send of `data` to rank `dst` into comm.stream(), and returns at once: the message leaves
/// after all that is in the stream already.
///
/// data    n >= 0 elements on this rank's GPU, to be left as they are until comm.wait() has returned.
/// dst     a rank of comm. It receives exactly n elements: NCCL's messages have no tag,
///         and do not tell how long they are.
///
/// Cost    1 message of n floats.
/// Errors  dist::Error if NCCL refuses the call. One that fails later shows in comm.wait().
/// Source  NCCL user guide, "Point-to-point communication".
void nccl_send(DeviceSpan<const float> data, int dst, const NcclCommunicator& comm);

/// Puts a receive of `data` from rank `src` into comm.stream(), and returns at once.
///
/// data    out: the n elements that src sent, once comm.wait() has returned, or for whatever is put into
///         the stream later.
/// src     a rank of comm.
///
/// Cost    1 message of n floats.
/// Errors  as nccl_send
/// Source  NCCL user guide, "Point-to-point communication".
void nccl_recv(DeviceSpan<float> data, int src, const NcclCommunicator& comm);

/// Sends `to_next` to rank r + 1 and receives `from_prev` from rank r - 1, on a circle of p ranks:
/// ring_shift for GPUs. Puts both into comm.stream(), and returns at once.
///
/// to_next    the message for the next rank, (r + 1) mod p; left as it is.
/// from_prev  out: the message of the previous rank, (r - 1) mod p, exactly as long as it is. The two
///            spans do not overlap.
/// comm       collective: every rank of `comm` makes this call. With p = 1 a rank is its own neighbour.
///
/// Cost       1 message sent and 1 received per rank, both at the same time: 1 round.
/// Errors     as nccl_send
/// Source     NCCL user guide, "Group calls".
void nccl_ring_shift(
    DeviceSpan<const float> to_next, DeviceSpan<float> from_prev, const NcclCommunicator& comm
);

}  // namespace dist
