// In the place of nccl_hook.cpp, for programs without NCCL.
#include "course/parallel/nccl_hook.hpp"
#include "course/parallel/stop.hpp"

namespace dist::trainer {

CommHook nccl_hook(const Communicator& /*comm*/) {
    throw Stop("--device cuda needs the CUDA toolkit and NCCL: ./shardlings doctor");
}

}  // namespace dist::trainer
