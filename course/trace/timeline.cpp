#include "course/trace/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "course/trace/rounds.hpp"

namespace dist::trace {
namespace {

/// Says of one message after the other, in the order in which a rank sends them, whether it is too much.
class Excess {
  public:
    explicit Excess(const Limits& limits) : limits_(limits) {}

    bool operator()(const Step& send) {
        messages_ += 1;
        bytes_ += send.bytes;
        const bool to_somebody_else = limits_.partners && !limits_.partners->contains(send.peer);
        return to_somebody_else || messages_ > limits_.messages || bytes_ > limits_.bytes;
    }

  private:
    const Limits& limits_;
    long messages_ = 0;
    long bytes_ = 0;
};

std::vector<std::vector<Step>> steps_of(const std::vector<Log>& logs) {
    std::vector<std::vector<Step>> steps;
    steps.reserve(logs.size());
    for (const Log& log : logs) {
        steps.push_back(log.steps);
    }
    return steps;
}

/// The place of `call` in `calls`, where it is added if it is new.
int number_of(const std::string& call, std::vector<std::string>& calls) {
    const auto found = std::ranges::find(calls, call);
    const auto number = found - calls.begin();
    if (found == calls.end()) {
        calls.push_back(call);
    }
    return static_cast<int>(number);
}

}  // namespace

Timeline timeline_of(const std::vector<Log>& logs) {
    const Schedule schedule = play(steps_of(logs), false);
    Timeline timeline;
    timeline.rounds = schedule.rounds;
    auto departure = schedule.departures.begin();  // in the order of the sends below
    for (std::size_t rank = 0; rank < logs.size(); ++rank) {
        const Log& log = logs[rank];
        Excess is_excess(log.limits);
        std::size_t sends = 0;
        timeline.cut = timeline.cut || log.cut;
        timeline.right_rounds = std::min(timeline.right_rounds, log.limits.rounds);
        for (const Step& step : log.steps) {
            if (step.did != Did::send) {
                continue;
            }
            harness::MessageRecord message;
            message.src = static_cast<int>(rank);
            message.dst = step.peer;
            message.tag = step.tag;
            message.bytes = step.bytes;
            message.is_lost = departure->end == kNever;
            message.begin = std::max(departure->begin, 0);
            message.end = message.is_lost ? message.begin + 1 : departure->end;
            message.is_excess = is_excess(step);
            message.call =
                sends < log.calls.size() ? number_of(log.calls[sends], timeline.calls) : 0;
            ++sends;
            timeline.messages.push_back(message);
            ++departure;
        }
    }
    std::ranges::stable_sort(timeline.messages, {}, [](const harness::MessageRecord& message) {
        return std::tuple(message.end, message.src, message.dst, message.begin);
    });
    return timeline;
}

}  // namespace dist::trace
