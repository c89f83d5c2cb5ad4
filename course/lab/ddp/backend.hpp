// What carries the messages of PyTorch's Reducer: in 1.13 a process group, later a backend of one.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#endif

#include "course/runtime/communicator.hpp"

namespace dist::lab {

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;
#else
using BackendBase = c10d::ProcessGroup;
#endif

#ifdef SHARDLINGS_GLOO
/// Gloo, over TCP on the loopback interface: what PyTorch takes where there is no GPU.
c10::intrusive_ptr<BackendBase> make_gloo(const Communicator& comm);
#endif

}  // namespace dist::lab
