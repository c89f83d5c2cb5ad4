#include <algorithm>
#include <fmt/format.h>

#include "course/diagrams/diagram.hpp"

namespace dist::diagrams {
namespace {

using harness::MessageRecord;

constexpr int kKi = 1024;

std::size_t floats_in(const MessageRecord& message) {
    return static_cast<std::size_t>(message.bytes) / sizeof(float);
}

Label all_of(std::size_t count) {
    return {count == 0 ? "empty" : fmt::format("{} float{}", count, count == 1 ? "" : "s"), 0};
}

std::string bytes_text(int bytes) {
    return bytes == 0                 ? "empty"
           : bytes % (kKi * kKi) == 0 ? fmt::format("{} MiB", bytes / kKi / kKi)
           : bytes % kKi == 0         ? fmt::format("{} KiB", bytes / kKi)
                                      : fmt::format("{} bytes", bytes);
}

}  // namespace

Labels floats() {
    return [](const MessageRecord& message) { return all_of(floats_in(message)); };
}

Labels bytes() {
    return [](const MessageRecord& message) { return Label{bytes_text(message.bytes), 0}; };
}

Labels parts(const std::string& part, std::size_t n, const std::vector<std::size_t>& begins) {
    return [=](const MessageRecord& message) {
        const std::size_t size = floats_in(message);
        if (size == n || size == 0) {
            return all_of(size);
        }
        const auto first = static_cast<std::size_t>(message.first);
        const auto next = std::upper_bound(begins.begin(), begins.end(), first);
        const auto number = static_cast<int>(next - begins.begin()) - 1;
        return Label{fmt::format("{} {}: {}", part, number, size), 1 + number};
    };
}

Labels ranges(std::size_t n) {
    return [=](const MessageRecord& message) {
        const std::size_t size = floats_in(message);
        const auto begin = static_cast<std::size_t>(message.first);
        return size == n || size == 0
                   ? all_of(size)
                   : Label{
                         fmt::format("[{}, {})", begin, begin + size), 1 + static_cast<int>(begin)};
    };
}

Labels blocks(std::size_t m, int p) {
    return [=](const MessageRecord& message) {
        const int block = static_cast<int>(message.first) / static_cast<int>(m);
        const auto rank = static_cast<char>('a' + block / p);
        return Label{fmt::format("{}{}: {}", rank, block % p, floats_in(message)), 1 + block / p};
    };
}

}  // namespace dist::diagrams
