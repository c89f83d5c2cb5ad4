// What becomes of a bucket of gradients on a GPU.
#pragma once

#include "course/runtime/communicator.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist::trainer {

/// As all_reduce_hook(), for gradients on this rank's GPU: NCCL adds them up, on a stream of its
/// own, while backward goes on. Neither the hook nor its future makes the host wait: what is put on the
/// default stream after the future was waited for comes after the sum.
///
/// comm    collective; one GPU a rank.
///
/// Errors  Stop, if this program was built without NCCL; dist::Error if there is no GPU.
CommHook nccl_hook(const Communicator& comm);

}  // namespace dist::trainer
