// Exercise 10: who lives, who is slow and who has died, as far as one rank can know.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// alive      it is heard.
/// straggler  it is heard, and its step is far behind.
/// suspected  it has been silent for too long: dead, stopped or cut off, nobody can tell. It lives
///            again when it is heard again.
/// dead       its connection has ended, for good.
enum class Health { alive, straggler, suspected, dead };

/// What a rank knows of another one, or of itself.
struct RankHealth {
    Health health = Health::alive;
    std::optional<std::int64_t> step = {};  // the last that it has said; none: nothing yet
    Clock::Duration silence{0};             // since it was heard, in own time of who judges

    bool operator==(const RankHealth&) const = default;
};

/// The same on all ranks.
struct HeartbeatSettings {
    Clock::Duration interval = std::chrono::seconds(1);  // from one heartbeat to the next
    int misses = 5;             // so many intervals of silence are too long
    std::int64_t max_lag = 10;  // so many steps behind the median are not far yet
};

/// A failure detector: tells the other ranks of a transport that this one lives, and judges
/// whether they do. It goes by its own time, and by what it hears itself: no message has a time
/// in it, or speaks of a third rank.
///
/// Own time goes on in look(): as the clock has since the last look, but never back, and by one
/// interval at the most. So a clock that jumps, or a process that stood still, makes nobody look
/// dead. The first look takes no time.
///
/// It keeps one receive posted for each other rank. So when it is gone, nobody uses the transport
/// any more.
///
/// One thread uses it, best one that does nothing else: a rank that waits in a collective makes no
/// looks.
class Heartbeat {
  public:
    /// group  of its messages; nobody else uses it.
    /// clock  outlives this object.
    ///
    /// Errors  std::invalid_argument unless interval > 0, misses >= 2 and max_lag >= 0.
    Heartbeat(
        Transport& transport,
        std::uint32_t group,
        Clock& clock,
        const HeartbeatSettings& settings = {}
    );
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    /// Takes what has come, sends what is due, then judges all ranks. It waits for nothing, and is
    /// called once an interval, or more often.
    ///
    /// It takes all messages that have come. A rank is heard when a message of it is taken, and
    /// the last one says its step. At the first look all ranks count as heard.
    ///
    /// It sends a heartbeat to each other rank at the first look, and when an interval of own time
    /// or more has passed since it last did: also to the suspected, not to the dead. Who still has
    /// one on its way out (its request is not done) gets no other.
    ///
    /// A rank is the first of these that is true:
    ///   dead       the transport has said so by an Error, at this look or an earlier one
    ///   suspected  it has been silent for `misses` intervals or longer
    ///   straggler  its step is more than max_lag below the median
    ///   alive      else
    /// The median is that of the steps that are known of all who are neither dead nor suspected;
    /// of an even number of steps, the higher one of the two in the middle. This rank is always
    /// heard, with `step`.
    ///
    /// step     that this rank has reached.
    /// returns  all ranks, this one as well.
    ///
    /// Cost    p - 1 messages an interval, of at most 64 bytes each.
    /// Source  Chandra and Toueg (1996), "Unreliable failure detectors for reliable distributed
    ///         systems", Journal of the ACM 43(2).
    std::vector<RankHealth> look(std::int64_t step);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
