// How long ago something was.
#pragma once

#include <chrono>

namespace dist::cli {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace dist::cli
