// What a test of GPU code is written with, beside harness.hpp. The same test makes two programs:
//
//   NAME_test       with CUDA and NCCL, for GPUs; without one each test is skipped, with the reason
//   NAME_host_test  with stand_in/ in their place: the same calls on the host's memory, messages
//                   over MPI. There is no GPU in it, so it proves no more than the logic.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "course/gpu/device_buffer.hpp"
#include "course/gpu/nccl_communicator.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// A communicator that other tests have as well, or, for calls that NCCL refuses, the body's alone:
/// after such a call it takes no other one.
enum class Connection { shared, own };

/// As on_ranks, for ranks that talk through NCCL. After `body`, what it put into the stream is done,
/// and every group that it started has to be ended.
void on_gpus(
    std::initializer_list<int> sizes,
    const std::function<void(const NcclCommunicator&)>& body,
    Connection connection = Connection::shared
);

/// As on_gpus, for one rank and a stream.
void on_gpu(const std::function<void(const Stream&)>& body);

/// As record(): messages, bytes and partners of the NCCL calls under test, whose work is done when it
/// returns. Rounds are counted by the stand-in only, and are 0 on GPUs.
Traffic record(const NcclCommunicator& comm, const std::function<void()>& body);

/// As same_on_all_ranks() and neighbours() of harness.hpp.
Comparison same_on_all_ranks(std::span<const float> data, const NcclCommunicator& comm);
std::set<int> neighbours(const NcclCommunicator& comm);

/// The most memory of the GPU, in bytes, that `body` held at once. Counted by the stand-in only, and 0 on GPUs.
long device_memory_of(const std::function<void()>& body);

/// Whether this program was linked with the stand-in.
bool on_stand_in();

}  // namespace dist::harness
