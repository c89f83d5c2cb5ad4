// Exercise 10: a barrier that waits for nobody for ever, and names who did not come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// Ranks are missing at a barrier.
class MissingRanks : public Error {
  public:
    /// missing  sorted.
    explicit MissingRanks(std::vector<int> missing)
        : Error("monitored_barrier: missing ranks: " + text_of(missing)),
          ranks_(std::move(missing)) {}

    [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

  private:
    static std::string text_of(const std::vector<int>& ranks) {
        std::string text;
        for (const int rank : ranks) {
            text += (text.empty() ? "" : ", ") + std::to_string(rank);
        }
        return text;
    }

    std::vector<int> ranks_;
};

/// A barrier of all ranks of a transport: either all leave it, or each rank that comes throws, with the names of
/// those that are missing. Every rank makes the same calls of wait(), in the same order.
///
/// Each rank tells rank 0 that it has come. Rank 0 decides, and tells all what it has decided. All of a rank's time is the
/// clock's: between two looks at what has come it sleeps there, for 1 to 10 ms.
///
/// It keeps one receive posted for each rank from which it waits for a message, and the next call goes on with it; and what it
/// has sent to a rank that stands still. So when it is gone, nobody uses the transport any more; which of the two is destroyed
/// first does not matter.
class MonitoredBarrier {
  public:
    /// group  of the barrier's messages; nobody else uses it.
    MonitoredBarrier(Transport& transport, std::uint32_t group, Clock& clock);
    ~MonitoredBarrier();
    MonitoredBarrier(const MonitoredBarrier&) = delete;
    MonitoredBarrier& operator=(const MonitoredBarrier&) = delete;

    /// Waits until every rank has come to this call, its first, second, ... one.
    ///
    /// A rank is lost to a call if it has died, also after it came, or if it has given this call up. Rank 0 decides
    ///   - that all leave, as soon as all are there, at its first look if they have come before it;
    ///   - that nobody leaves, when one is lost: the lost ones are missing;
    ///   - or, with `wait_all_ranks`, when each rank is there or lost: those that are lost are missing;
    ///   - that nobody leaves, when `timeout` is over: those that are not there are missing.
    /// What becomes of a rank after rank 0 has decided changes nothing for the others. A rank that comes later finds what
    /// rank 0 has decided of this call, throws at once, and does not count as one that has come to the next.
    ///
    /// If rank 0 has decided nothing for 2 timeouts (one in which it may come, one in which it may wait), a rank gives
    /// the call up, tells rank 0 so, and rank 0 is missing. It is at once if it has died. Only where that word and rank 0's pass
    /// each other on the way does one rank throw while others leave.
    ///
    /// timeout         for how long rank 0 waits, from its own call on, for all others together.
    /// wait_all_ranks  rank 0's counts.
    ///
    /// Cost    if all come 2(p - 1) messages: one from each other rank to rank 0, and one back. None for p = 1.
    /// Errors  MissingRanks.
    /// Source  PyTorch, monitored_barrier (ProcessGroupGloo.cpp), which asks the ranks one after the other.
    void wait(Clock::Duration timeout, bool wait_all_ranks = false);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
