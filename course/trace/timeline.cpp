#include "course/trace/timeline.hpp"

#include <algorithm>
#include <map>
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

/// What the messages of all ranks carry.
class Parcels {
  public:
    explicit Parcels(const std::vector<Log>& logs) {
        for (std::size_t rank = 0; rank < logs.size(); ++rank) {
            memory_.emplace_back(logs[rank]);
            auto payload = logs[rank].payloads.begin();
            for (const Step& step : logs[rank].steps) {
                const bool carries = step.did == Did::send || step.did == Did::wait_receive;
                if (carries && payload != logs[rank].payloads.end()) {
                    payloads_[{static_cast<int>(rank), step.id}] = *payload++;
                }
            }
        }
    }

    /// Of the message that rank `src` numbers so, and that its receiver knows as `taken_as`.
    [[nodiscard]] Parcel parcel(int src, const Step& send, int taken_as) const {
        const Payload sent = payload(src, send.id);
        Parcel parcel;
        parcel.from = part(src, sent, send.bytes);
        parcel.into = part(send.peer, payload(send.peer, taken_as), send.bytes);
        const auto telling = [](const Part& part) {
            return std::pair(!part.memory.empty(), part.is_less_than_all());
        };
        parcel.part = telling(parcel.from) < telling(parcel.into) ? parcel.into : parcel.from;
        parcel.values = sent.values;
        return parcel;
    }

  private:
    [[nodiscard]] Payload payload(int rank, int id) const {
        const auto found = payloads_.find({rank, id});
        return found == payloads_.end() ? Payload{} : found->second;
    }

    [[nodiscard]] Part part(int rank, const Payload& payload, int bytes) const {
        const auto place = static_cast<std::size_t>(rank);
        return rank >= 0 && place < memory_.size() ? memory_[place].part_at(payload.at, bytes)
                                                   : Part{};
    }

    std::vector<MemoryOfMessages> memory_;
    std::map<std::pair<int, int>, Payload> payloads_;  // by rank, and by its number of the message
};

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
    const Parcels parcels(logs);
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
            message.parcel = static_cast<int>(timeline.parcels.size());
            timeline.parcels.push_back(parcels.parcel(message.src, step, departure->taken_as));
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
