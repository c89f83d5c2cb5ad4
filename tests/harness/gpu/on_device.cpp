// Linked into programs for GPUs, in the place of stand_in/.

#include "tests/harness/gpu/gpu.hpp"

namespace dist::harness {

bool on_stand_in() {
    return false;
}

long device_memory_of(const std::function<void()>& body) {
    body();
    return 0;
}

}  // namespace dist::harness
