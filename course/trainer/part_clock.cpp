#include "course/trainer/part_clock.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>

namespace dist::trainer {

namespace {

/// How long this thread has neither run nor waited for a core, counted from some moment in the past.
double asleep_s() {
    timespec ran{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    double ran_ns = 0;
    double queued_ns = 0;  // 0 where the system does not tell
    std::ifstream("/proc/thread-self/schedstat") >> ran_ns >> queued_ns;
    return now_s() - static_cast<double>(ran.tv_sec) -
           1e-9 * (static_cast<double>(ran.tv_nsec) + queued_ns);
}

}  // namespace

void PartClock::start() {
    wall_.lap_s();
    messages_ = message_seconds();
    asleep_s_ = asleep_s();
}

double PartClock::lap_s(StepRecord& step) {
    const PartClock begun = *this;
    const double part_s = wall_.elapsed_s();
    start();
    const double here_s = messages_.here - begun.messages_.here;
    const double elsewhere_s = std::max(0.0, messages_.elsewhere - begun.messages_.elsewhere);
    const double slept_s = std::clamp(asleep_s_ - begun.asleep_s_ - here_s, 0.0, elsewhere_s);
    const double waited_s = std::min(here_s + slept_s, part_s);
    step.communication_s += waited_s;
    step.hidden_s += elsewhere_s - slept_s;
    return part_s - waited_s;
}

}  // namespace dist::trainer
