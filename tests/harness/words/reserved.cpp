#include <stdexcept>
#include <sys/mman.h>

#include "tests/harness/harness.hpp"

namespace dist::harness {

Reserved::Reserved(std::size_t n) {
    void* room = mmap(
        nullptr, n * sizeof(float), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0
    );
    if (room == MAP_FAILED) {
        throw std::runtime_error("no addresses left for " + std::to_string(n) + " floats");
    }
    floats_ = {static_cast<float*>(room), n};
}

Reserved::~Reserved() {
    munmap(floats_.data(), floats_.size_bytes());
}

}  // namespace dist::harness
