// Exercise 03, for GPUs: the ring all-reduce once more, on GPU memory, NCCL's messages and your kernel.
#pragma once

#include "course/gpu/check.hpp"
#include "course/gpu/device_buffer.hpp"
#include "course/gpu/device_span.hpp"
#include "course/gpu/nccl_communicator.hpp"
#include "course/gpu/scale.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Combines `data` element by element over all ranks; every rank ends with the same bits. Returns when
/// the result is there.
///
/// data    in: this rank's contribution, out: the reduction. n >= 0 elements on this rank's GPU, the same n
///         on every rank.
/// op      how two elements combine; mean is the sum divided by p, once.
/// comm    collective: every rank of `comm` makes this call.
///
/// Cost    2(p-1) messages, of one chunk each: at most 2(p-1) ceil(n/p) floats sent per rank, to one
///         neighbour, and received from the other. At most ceil(n/p) floats of memory beside `data`.
///         No element passes through the host.
/// Errors  those of nccl_ring_shift and of comm.wait().
/// Source  Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of
///         workstations"; NCCL's own ring does these steps in one kernel.
void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm);

}  // namespace dist
