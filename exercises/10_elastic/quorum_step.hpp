// Exercise 10: going on without a restart. Some replicas of a model die, the others take the next
// step without them, and who comes back copies the weights from a peer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// When some go on without the others.
struct QuorumSettings {
    using Duration = Clock::Duration;

    int min_replicas = 1;
    Duration join_timeout = std::chrono::seconds(60);  // how long the first to ask waits for others
    Duration dead_after = std::chrono::seconds(5);     // who was not heard for so long is dead
};

/// A replica, as it is known where quorums are formed. Its times are of the clock there.
struct Replica {
    using Duration = Clock::Duration;

    std::string name = {};               // which no other one has or had
    Duration heard{0};                   // when it was heard last
    std::optional<Duration> asked = {};  // since when it asks for a quorum; none: it does not
    std::int64_t step = 0;               // how many steps its weights have behind them
    bool failed = false;                 // its last step did not count
};

/// Who takes the next step together.
struct Quorum {
    std::int64_t number = 0;                // 1, 2, ...; 0: there is none yet
    std::vector<std::string> members = {};  // sorted by name: a member's place is its rank
    std::int64_t step = 0;                  // how many steps those have that are up to date
    std::vector<int> sources = {};  // by rank: of whom it copies the weights; itself: of nobody

    [[nodiscard]] bool heals(int rank) const {
        return sources.at(static_cast<std::size_t>(rank)) != rank;
    }

    /// The ranks that are up to date: only their gradients count.
    [[nodiscard]] std::vector<int> participants() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < static_cast<int>(sources.size()); ++rank) {
            if (!heals(rank)) {
                ranks.push_back(rank);
            }
        }
        return ranks;
    }

    bool operator==(const Quorum&) const = default;
};

/// Forms the next quorum, if one can be formed now. A pure function: the result depends on the
/// arguments alone.
///
/// A replica lives if it was heard less than dead_after ago. Those that live and ask become the
/// members
///   - at once, if there is a previous quorum, and all its members are among them (fast quorum);
///   - else if they are min_replicas or more, and more than half of those that live, and either
///     all that live ask, or the first of them has asked for join_timeout or longer.
///
/// number   the previous one, if it has the same members and none of them failed; else the next.
/// step     the highest of a member.
/// sources  Up to date are the members at that step; if some of these were in `previous`, only
///          those; and at step 0, where no two have the same weights yet, only the first of them.
///          All others heal: the i-th of them, by rank and from 0, copies from number i mod k of
///          the k that are up to date.
///
/// returns  nothing if no quorum can be formed yet.
/// Source   torchft, src/lighthouse.rs and src/manager.rs, which do not look at `previous` to see
///          who is up to date.
std::optional<Quorum> quorum(
    const std::vector<Replica>& replicas,
    const Quorum& previous,
    const QuorumSettings& settings,
    Clock::Duration now
);

/// The steps of one replica. All members of a quorum take a step, or nobody does.
///
///     step.begin(quorum, transport);
///     ...                                 // the gradient of its share; any numbers, if it heals
///     step.all_reduce(gradient);          // once, or for one part after another
///     if (step.should_commit()) { ... }   // the optimizer's step; else the same examples again
///
/// All members make the same calls. A call waits for members that live, and for nobody who has
/// died or left. One that stands still, and does not die, holds up all: a watchdog has to end it.
class QuorumStep {
  public:
    /// state  all that makes two replicas equal, in one row: weights, and what the optimizer keeps.
    ///        As long on all replicas, and there as long as this object.
    /// step   how many steps it has behind it.
    explicit QuorumStep(std::span<float> state, std::int64_t step = 0);
    ~QuorumStep();
    QuorumStep(const QuorumStep&) = delete;
    QuorumStep& operator=(const QuorumStep&) = delete;

    /// Begins a step. It begins to send the state to those that heal from this rank, or to receive
    /// another one's, and waits for neither: while one copies, the others compute. Until
    /// should_commit() returns, nobody else writes to the state.
    ///
    /// transport  of the members, by rank. It is made anew for each number, nobody else uses it,
    ///            and it is there until the next begin().
    ///
    /// Errors  std::invalid_argument unless it has as many ranks as there are members.
    void begin(const Quorum& quorum, Transport& transport);

    /// Notes that this step went wrong here.
    void report_error();

    /// Replaces `gradient` by the mean over the participants; one that heals adds zeros. All ranks
    /// get the same bits.
    ///
    /// An Error of the transport is noted, and does not come out. What stands in `gradient` then,
    /// or after an earlier error, is no mean. But the others get on, and hear of it in the end.
    ///
    /// gradient  as long on all ranks.
    ///
    /// Cost  2(p - 1) messages from each rank, with 2n(p - 1)/p floats.
    void all_reduce(std::span<float> gradient);

    /// Ends the step. Returns whether it counts: only if it went well on all members. One no, or
    /// one that dies before it has voted, and nobody takes it.
    ///
    /// One that heals has the other's state and step then, also if the step does not count. If the
    /// other died meanwhile, it has its own state and step still.
    ///
    /// Rank 0 takes the votes, and tells all. If it dies before it has told all, those that were
    /// told have taken the step, and the others have not: they heal from them in the next quorum.
    ///
    /// Cost  a message from each other rank to rank 0, and one back.
    bool should_commit();

    /// How many steps it has behind it. A step that counts is among them when should_commit()
    /// returns.
    [[nodiscard]] std::int64_t step() const;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
