// LibTorch's default generator on the host.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <cstdint>
#include <mutex>

namespace dist::harness {

/// The generator begins anew.
inline void seed_generator(std::uint64_t number) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock guard(generator.mutex());
    generator.set_current_seed(number);
}

}  // namespace dist::harness
