// The shared roll-call, seen from one rank: what it publishes, how it waits, how a deadlock is
// decided.
//
// Note [Deadlock] Every rank that waits for a message polls it. A deadlock is: every rank of the
// world in use waits or has left the code under test; each waiting one has polled kPolls times
// since anything last moved anywhere (the epoch), and kQuietS went by; and no receive has been
// matched, and no posted send has a posted receive that would take it. A rank on its way into the body, or out of a gate that all have
// reached, neither waits nor has left. Polls are counted, so a loaded machine makes the verdict
// later, never wrong; the matching test is what makes large messages safe, which move for long
// before they are through.
#pragma once

#include <stdexcept>
#include <string>

#include "course/protocol/protocol.hpp"

namespace dist::harness {

/// Thrown in every rank that waits, or calls MPI again, after the test was stopped.
struct Stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown where a forbidden call was made.
struct ForbiddenCall : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Maps the file "board" of the run folder, in the place of one that was open; the launcher made it. Call before
/// anything else.
void open_board(const std::string& folder, int size);

/// From now on this process is the rank, or watches over it.
void set_world_rank(int rank);

/// From now on this process, which is no rank of the job, writes into that slot.
void take_slot(int slot);

Board& board();
Slot& my_slot();
Slot& slot_of(int world_rank);
int world_rank();
int world_size();

/// True while the code under test may run: then MPI_* calls are watched.
bool guarded();

/// The number of the on_ranks body in progress, and how many ranks (0 to p-1 of the job) it has.
long current_run();
int participants();
void enter_run(long run, int ranks);
void leave_run();

/// Something moved: whoever counted polls starts again.
void moved();

/// This thread's line; the thread that runs the tests has line 0.
Line& my_line();

/// Publishes what this thread does now, and moves the epoch.
void publish(Phase phase);

/// Throws Stopped if the body in progress was stopped.
void leave_if_stopped();

/// Stops the body in progress on every rank; the first to call it says why.
void stop_all(Stop reason, const std::string& message);

/// Whether the body in progress was stopped.
bool stopped();

/// A call that may have to wait.
struct RequestText {
    std::string call;  // as the student wrote it: "MPI_Irecv(from rank 2, tag 0, 4 bytes)"
    int peer = -1;     // rank in the world of the job
    int rank_in_comm =
        -1;  // this rank, and its peer, in the communicator of the call; negative: not known
    int peer_in_comm = -1;
    int tag = -1;
    CallKind kind = CallKind::request;
    Direction direction = Direction::none;
};

/// Publishes, for as long as it lives, that this thread waits in `text.call`.
class Wait {
  public:
    explicit Wait(const RequestText& text);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    /// What is waited for was asked for there: the place that is shown in a report.
    void stands_at(const Frames& frames);

    /// One unsuccessful look at what is waited for. Gives the processor away.
    ///
    /// Errors  Stopped when the test was stopped, by this rank or by another.
    void poll();

  private:
    double quiet_since_s_;
    bool framed_ = false;
    Line& line_;
};

/// From now on the code under test is in the library that was loaded there, and no longer in the executable.
void look_at_library(std::uint64_t base);

/// Fills `frames` with this thread's stack, innermost first, addresses as in_executable() gives them.
void capture_frames(Frames& frames);

/// The address relative to where the executable was loaded, or the library under test; 0 if it is not part of it.
std::uint64_t in_executable(const void* address);

}  // namespace dist::harness
