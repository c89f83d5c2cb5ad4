// Exercise 10: what each rank did last, and what the records of all say of a job that stands still.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/flight_record.hpp"

namespace dist {

/// Keeps the last operations of one rank. Several threads may call at the same time: collectives
/// run in background threads, and who dumps is another one.
///
/// Cost    no message; memory for the operations that it keeps, however many there were.
/// Source  PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp.
class FlightRecorder {
  public:
    /// rank      of this process.
    /// capacity  how many operations it keeps, the newest; >= 1. Older ones fall out of this ring:
    ///           it keeps their number.
    /// clock     of this rank; outlives the recorder.
    ///
    /// Errors  std::invalid_argument if capacity is 0.
    FlightRecorder(int rank, std::size_t capacity, Clock& clock);

    /// Makes a group known, before its first operation.
    ///
    /// members  its ranks, this one among them.
    ///
    /// Errors  std::invalid_argument if this rank is no member, or the name is taken.
    void add_group(const std::string& name, const std::vector<int>& members);

    /// Notes that this rank has called a collective: it is scheduled, now. Returns the operation's
    /// id: 1, 2, ... over all operations of this rank. The collectives of each group have numbers
    /// of their own, 1, 2, ..., and so have its sends and receives: those never change a
    /// collective's number.
    ///
    /// Errors  std::invalid_argument if the group is not known.
    std::int64_t schedule(
        const std::string& group,
        const FlightCall& call,
        const SourceLine& where = SourceLine::here()
    );

    /// The same for a send or receive.
    std::int64_t schedule_p2p(
        const std::string& group,
        const FlightCall& call,
        const SourceLine& where = SourceLine::here()
    );

    /// Notes that an operation starts, or completes, now; it need not be the oldest. One that has
    /// fallen out of the ring leaves everything as it is.
    ///
    /// Errors  std::invalid_argument if no operation has this id.
    void start(std::int64_t id);
    void complete(std::int64_t id);

    /// All that it keeps, at one moment; also while operations are under way.
    [[nodiscard]] FlightRecord dump() const;

  private:
    std::int64_t note(
        const std::string& group, const FlightCall& call, const SourceLine& where, bool is_p2p
    );

    std::size_t capacity_;
    Clock& clock_;
    mutable std::mutex lock_;
    FlightRecord record_;  // what dump() returns
};

/// Says what went wrong. A pure function of what some or all ranks have left.
///
/// Collectives are paired by group and number, among the group's members. Of one that has fallen
/// out of a rank's ring nothing is known of that rank. A rank has not called a collective if its
/// number is above the record's count of the group's collectives.
///
/// Each group is gone through by itself, from the oldest collective that a record has, up to the
/// first with a finding. Nothing is said of those behind it: they may be consequences. A finding
/// names one rank:
///
///   other_...    It called something else than more than half of the ranks whose call is known.
///                Which of the five says what differs: the first of name (other_collective), root,
///                op, type and count (other_size). Lines may differ.
///   skipped      In the place of other_...: most likely it left this collective out. More of its
///                calls from this one on are, in a row, the others' next ones (its n-th is their
///                n+1-th) than, of those behind this one, are in a row the others' in place.
///   no_majority  Calls differ, and none has more than half: nobody is accused. All ranks whose
///                call is known have this finding.
///
/// or, where all known calls agree, and a rank has started the collective,
///
///   behind       It has not started it, or not even called it. `instead` is the newest operation
///                that it has started and not completed; if there is none, its newest.
///   no_record    It is a member that left no record, and a rank has not completed the collective.
///
/// and, of the collectives before all that, the one at which most was waited for the rank:
///
///   slow         Half of the group's ranks, or more, were in it longer than this rank, by `slow`
///                or more, each by its own clock; and this rank had waited in no operation for `slow`
///                or more. So it came late, and had not waited elsewhere. Not asked where there is
///                a root: ranks may leave before others come. Nor where what the rank did before
///                has fallen out of the ring.
///
/// `collective` is another rank's entry: of one that called as most did; for no_majority, that
/// called something else; for behind and no_record, that is in it, or was if nobody is; for slow,
/// that was in it longest. `instead` is the rank's own call, where nothing else is said.
///
/// records  at most one of each rank, in any order. They agree on the members of groups.
/// slow     > 0.
/// returns  in any order; nothing if nothing is wrong.
///
/// Source  PyTorch, torch/distributed/flight_recorder, which takes the first rank to be right.
std::vector<FlightFinding> diagnose(
    const std::vector<FlightRecord>& records, Clock::Duration slow = std::chrono::seconds(1)
);

}  // namespace dist
