// When a wait ends. Duration::max() means never, and a plain now + timeout would overflow.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace dist {

/// now + timeout, or the last moment there is.
inline std::chrono::milliseconds deadline_after(
    std::chrono::milliseconds now, std::chrono::milliseconds timeout
) {
    constexpr auto kLast = std::chrono::milliseconds::max();
    constexpr auto kFirst = std::chrono::milliseconds::min();
    if (timeout.count() > 0) {
        return now > kLast - timeout ? kLast : now + timeout;
    }
    return now < kFirst - timeout ? kFirst : now + timeout;
}

/// From now on, by the machine's clock: a hundred years at the most, which every wait of C++ can add to its own now.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds timeout) {
    constexpr std::chrono::milliseconds kFar = std::chrono::years(100);
    return std::chrono::steady_clock::now() + std::clamp(timeout, -kFar, kFar);
}

/// How long until then, rounded up, as poll() takes it: 0 if it is over; 24 days at the most, after which to look again.
inline int poll_ms(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return static_cast<int>(
        std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, std::numeric_limits<int>::max())
    );
}

}  // namespace dist
