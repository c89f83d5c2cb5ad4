// Stacks, as addresses in the program or library under test: what addr2line turns into lines.

#include <algorithm>
#include <array>
#include <execinfo.h>
#include <link.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Image {
    std::uint64_t base, begin, end;
};

Image image_from(const dl_phdr_info& info) {
    Image image{info.dlpi_addr, ~std::uint64_t{0}, 0};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
            image.begin = std::min(image.begin, begin);
            image.end = std::max(image.end, begin + segment.p_memsz);
        }
    }
    return image;
}

// Of the program: the first image that there is.
Image of_the_program() {
    Image found{};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<Image*>(out) = image_from(*info);
            return 1;
        },
        &found
    );
    return found;
}

Image& under_test() {
    static Image image = of_the_program();
    return image;
}

}  // namespace

void look_at_library(std::uint64_t base) {
    under_test().base = base;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            auto* image = static_cast<Image*>(out);
            const bool found = info->dlpi_addr == image->base;
            *image = found ? image_from(*info) : *image;
            return found ? 1 : 0;
        },
        &under_test()
    );
}

std::uint64_t in_executable(const void* address) {
    const Image& image = under_test();
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
