#include "course/trace/rounds.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <utility>

namespace dist::trace {
namespace {

struct Transfer {
    int begin = kNever;
    int end = kNever;
    bool is_received = false;
    int taken_as = kNever;
    long sent = 0;    // order of its posts, over all
    long posted = 0;  //
};

struct Thread {
    std::vector<Step> steps;
    std::size_t next = 0;
    bool runs = true;

    [[nodiscard]] bool ended() const { return runs && next == steps.size(); }
};

struct Rank {
    std::map<int, Thread> threads;
    std::map<int, Transfer*> sends, receives;  // by number
    std::deque<Transfer*> out;                 // posted, not yet left
    std::vector<Transfer*> in;                 // receives that are posted and not through
};

class Machine {
  public:
    Machine(const std::vector<std::vector<Step>>& logs, bool half_duplex)
        : ranks_(logs.size()), half_duplex_(half_duplex) {
        for (std::size_t r = 0; r < logs.size(); ++r) {
            for (const Step& step : logs[r]) {
                ranks_[r].threads[step.thread].steps.push_back(step);
                if (step.did == Did::send) {
                    ranks_[r].sends[step.id] = &transfers_.emplace_back();
                    in_order_[{static_cast<int>(r), step.peer}].push_back(step.id);
                } else if (step.did == Did::start_thread) {
                    ranks_[r].threads[step.id].runs = false;
                }
            }
        }
        for (std::size_t r = 0; r < logs.size(); ++r) {
            for (const Step& step : logs[r]) {
                if (step.did == Did::wait_receive) {
                    const int id = step.peer_id >= 0 ? step.peer_id
                                                     : next_sent({step.peer, static_cast<int>(r)});
                    Transfer* const message = sent_by(step.peer, id);
                    message->taken_as = step.id;
                    ranks_[r].receives[step.id] = message;
                }
            }
        }
    }

    Schedule run() {
        bool moved = true;
        while (moved) {
            moved = advance();
            moved = transfer() || moved;
            ++now_;
        }
        Schedule schedule;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            for (const auto& [id, message] : ranks_[r].receives) {
                schedule.deliveries.push_back(
                    {static_cast<int>(r), id, message->begin, message->end}
                );
            }
            for (const auto& [id, message] : ranks_[r].sends) {
                schedule.departures.push_back(
                    {static_cast<int>(r), id, message->begin, message->end, message->taken_as}
                );
            }
        }
        for (const Transfer& message : transfers_) {
            const int left = message.begin == kNever ? 0 : message.begin + 1;
            schedule.rounds = std::max({schedule.rounds, left, message.end});
        }
        return schedule;
    }

  private:
    // The number of the next message from the first of these ranks to the second.
    int next_sent(const std::pair<int, int>& ranks) {
        std::deque<int>& ids = in_order_[ranks];
        const int id = ids.empty() ? kNever : ids.front();
        if (!ids.empty()) {
            ids.pop_front();
        }
        return id;
    }

    Transfer* sent_by(int rank, int id) {
        Transfer* message = nullptr;
        if (rank >= 0) {
            const auto found = ranks_[static_cast<std::size_t>(rank)].sends.find(id);
            message = found == ranks_[static_cast<std::size_t>(rank)].sends.end() ? nullptr
                                                                                  : found->second;
        }
        if (message == nullptr) {  // it was sent before the logs begin
            message = &transfers_.emplace_back();
            message->begin = 0;
        }
        message->is_received = true;
        return message;
    }

    // Whether this step can be taken now; takes it.
    bool take(Rank& rank, const Step& step) {
        switch (step.did) {
            case Did::send:
                rank.sends[step.id]->sent = ++posts_;
                rank.out.push_back(rank.sends[step.id]);
                return true;
            case Did::receive:
                if (const auto found = rank.receives.find(step.id); found != rank.receives.end()) {
                    found->second->posted = ++posts_;
                    rank.in.push_back(found->second);
                }
                return true;
            case Did::wait_send: {
                const auto found = rank.sends.find(step.id);
                if (found == rank.sends.end()) {
                    return true;
                }
                const Transfer& message = *found->second;
                return message.is_received ? through(message)
                                           : message.begin != kNever && message.begin < now_;
            }
            case Did::wait_receive:
                return through(*rank.receives[step.id]);
            case Did::start_thread:
                rank.threads[step.id].runs = true;
                return true;
            case Did::join_thread:
                return rank.threads[step.id].ended();
        }
        return true;
    }

    [[nodiscard]] bool through(const Transfer& message) const {
        return message.end != kNever && message.end <= now_;
    }

    // Every thread goes as far as it can in this round.
    bool advance() {
        bool moved = false;
        for (Rank& rank : ranks_) {
            for (bool again = true; again;) {
                again = false;
                for (auto& [number, thread] : rank.threads) {
                    while (thread.runs && thread.next < thread.steps.size() &&
                           take(rank, thread.steps[thread.next])) {
                        ++thread.next;
                        moved = again = true;
                    }
                }
            }
        }
        return moved;
    }

    // The receive that this rank can serve in this round; nullptr: none.
    [[nodiscard]] Transfer* incoming(const Rank& rank) const {
        Transfer* best = nullptr;
        for (Transfer* message : rank.in) {
            if (message->begin != kNever && (best == nullptr || message->begin < best->begin)) {
                best = message;
            }
        }
        return best;
    }

    void receive(Rank& rank, Transfer* message) {
        message->end = now_ + 1;
        rank.in.erase(std::ranges::find(rank.in, message));
    }

    // One round of messages.
    bool transfer() {
        std::vector<Rank*> receivers;
        bool moved = false;
        for (Rank& rank : ranks_) {
            Transfer* waiting = half_duplex_ ? incoming(rank) : nullptr;
            if (waiting != nullptr &&
                (rank.out.empty() || waiting->posted < rank.out.front()->sent)) {
                receivers_now_.emplace_back(&rank, waiting);
            } else if (!rank.out.empty()) {
                leaving_now_.push_back(&rank);
            } else {
                receivers.push_back(&rank);
            }
        }
        for (Rank* rank : leaving_now_) {
            rank->out.front()->begin = now_;
            rank->out.pop_front();
            moved = true;
            if (!half_duplex_) {
                receivers.push_back(rank);
            }
        }
        for (const auto& [rank, message] : receivers_now_) {
            receive(*rank, message);
            moved = true;
        }
        for (Rank* rank : receivers) {
            if (Transfer* message = incoming(*rank)) {
                receive(*rank, message);
                moved = true;
            }
        }
        leaving_now_.clear();
        receivers_now_.clear();
        return moved;
    }

    std::vector<Rank> ranks_;
    std::map<std::pair<int, int>, std::deque<int>> in_order_;  // numbers, by sender and receiver
    std::list<Transfer> transfers_;
    std::vector<Rank*> leaving_now_;
    std::vector<std::pair<Rank*, Transfer*>> receivers_now_;
    bool half_duplex_;
    int now_ = 0;
    long posts_ = 0;
};

}  // namespace

Schedule play(const std::vector<std::vector<Step>>& logs, bool half_duplex) {
    return Machine(logs, half_duplex).run();
}

}  // namespace dist::trace
