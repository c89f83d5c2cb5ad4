// In the place of nccl_hook.cpp, for programs without NCCL.
#include "course/trainer/parallel/nccl_hook.hpp"
#include "course/trainer/stop.hpp"

namespace dist::trainer {

CommHook nccl_hook(const Communicator& /*comm*/) {
    throw Stop("--device cuda needs the CUDA toolkit and NCCL: ./shardlings doctor");
}

}  // namespace dist::trainer
