#include "course/runtime/clock.hpp"

#include <thread>

namespace dist {

Clock::Duration SteadyClock::now() {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()
    );
}

void SteadyClock::sleep(Duration duration) {
    if (duration > Duration(0)) {
        std::this_thread::sleep_for(duration);
    } else {
        std::this_thread::yield();
    }
}

}  // namespace dist
