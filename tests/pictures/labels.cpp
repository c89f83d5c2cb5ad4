#include <fmt/format.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/pictures/diagram.hpp"

namespace dist::pictures {
namespace {

using harness::MessageRecord;

std::size_t floats_in(const MessageRecord& message) {
    return static_cast<std::size_t>(message.bytes) / sizeof(float);
}

Label counted(std::size_t count, const char* unit) {
    return {count == 0 ? "empty" : fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s"), 0};
}

}  // namespace

Labels floats() {
    return [](const MessageRecord& message) { return counted(floats_in(message), "float"); };
}

Labels bytes() {
    return [](const MessageRecord& message) {
        return counted(static_cast<std::size_t>(message.bytes), "byte");
    };
}

Labels parts(const std::string& part, std::size_t n, int parts) {
    return [=](const MessageRecord& message) {
        const std::size_t size = floats_in(message);
        if (size == n || size == 0) {
            return counted(size, "float");
        }
        const auto begin = static_cast<std::size_t>(message.first);
        int number = 0;
        while (chunk_bounds(n, parts, number).end <= begin) {
            ++number;
        }
        const bool is_part = chunk_bounds(n, parts, number) == Chunk{begin, begin + size};
        return Label{
            is_part ? fmt::format("{} {}: {}", part, number, size)
                    : fmt::format("[{}, {})", begin, begin + size),
            1 + number};
    };
}

Labels blocks(std::size_t m, int p) {
    return [=](const MessageRecord& message) {
        const int block = static_cast<int>(message.first) / static_cast<int>(m);
        const auto rank = static_cast<char>('a' + block / p);
        return Label{fmt::format("{}{}: {}", rank, block % p, floats_in(message)), 1 + block / p};
    };
}

}  // namespace dist::pictures
