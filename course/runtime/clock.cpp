#include "course/runtime/clock.hpp"

#include <thread>

namespace dist {

Clock::Duration SteadyClock::now() {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()
    );
}

void SteadyClock::sleep(Duration duration) {
    std::this_thread::sleep_for(duration);
}

}  // namespace dist
