// Sizes and times as people read them.
#pragma once

#include <cstddef>
#include <string>

namespace dist::lab {

inline constexpr double kMicro = 1e6;  // microseconds in a second

/// 65536 is "64 KiB"; what is no whole number of KiB stays in bytes.
inline std::string in_words(std::size_t bytes) {
    const char* unit = "B";
    for (const char* larger : {"KiB", "MiB", "GiB"}) {
        if (bytes == 0 || bytes % 1024 != 0) {
            break;
        }
        bytes /= 1024;
        unit = larger;
    }
    return std::to_string(bytes) + " " + unit;
}

}  // namespace dist::lab
