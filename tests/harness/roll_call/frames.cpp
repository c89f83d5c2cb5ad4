// Stacks, as addresses in the executable: what addr2line turns into lines.

#include <algorithm>
#include <array>
#include <execinfo.h>
#include <link.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {

std::uint64_t in_executable(const void* address) {
    struct Image {
        std::uint64_t base, begin, end;
    };
    static const Image image = [] {
        Image found{};
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* out) {
                auto* result = static_cast<Image*>(out);
                *result = {info->dlpi_addr, ~std::uint64_t{0}, 0};
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    const auto& segment = info->dlpi_phdr[i];
                    if (segment.p_type == PT_LOAD) {
                        const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
                        result->begin = std::min(result->begin, begin);
                        result->end = std::max(result->end, begin + segment.p_memsz);
                    }
                }
                return 1;  // the first image is the executable
            },
            &found
        );
        return found;
    }();
    const auto a = reinterpret_cast<std::uint64_t>(address);
    return a >= image.begin && a < image.end ? a - image.base : 0;
}

void capture_frames(Frames& frames) {
    std::array<void*, 64> stack{};
    const int depth = backtrace(stack.data(), static_cast<int>(stack.size()));
    int count = 0;
    for (int i = 1; i < depth && count < kMaxFrames; ++i) {
        // a return address points behind the call: one back is inside it
        const std::uint64_t address = in_executable(static_cast<char*>(stack[i]) - 1);
        if (address != 0) {
            frames.address[count++] = address;
        }
    }
    frames.count = count;
}

}  // namespace dist::harness
