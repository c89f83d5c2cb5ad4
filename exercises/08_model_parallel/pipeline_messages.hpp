// Exercise 08: the messages of a pipeline, and what is wrong with a schedule, found before anything runs.
#pragma once

#include <vector>

#include "course/runtime/error.hpp"
#include "course/runtime/pipeline_actions.hpp"

namespace dist {

/// Inserts the messages that computations need. Where stage k + 1 is on another rank than stage k, each result of F of k
/// has a SEND_F of k and a RECV_F of k + 1, each result of I or B of k + 1 a SEND_B of k + 1 and a RECV_B of k.
///
/// Ranks go through their rows in rounds. In each round, all ranks compute what is next in their rows, if its input was
/// there before the round. Then all results of the round are sent: each SEND, and its RECV, at the end of their rows so far.
///
/// rows     computations alone, every stage on one rank
/// returns  rows in which validate() finds nothing, whether sends wait or not. If all computations take the same
///          time, and messages none, they take no longer than without messages, even if sends wait.
///
/// Cost    no message. 2m(p-1) SENDs for p stages on p ranks.
/// Errors  std::invalid_argument if a computation's input never comes, or rows hold messages.
/// Source  PyTorch, torch/distributed/pipelining/schedules.py, _add_send_recv.
Schedule insert_messages(const Schedule& rows);

/// buffered    a SEND is done at once, as MPI_Isend.
/// rendezvous  a SEND is done when the other rank stands at its RECV, as MPI_Ssend.
enum class Sends { buffered, rendezvous };

enum class Fault {
    misplaced,  // its stage or micro-batch is none, or a lower rank has its stage; or it is a message and its
                // two stages are not on two ranks
    repeated,   // it stands there a second time; or it is an I or W, and there is a B
    missing,    // it stands nowhere
    too_early,  // it stands before what it needs in its row
    deadlock    // its rank waits in it for ever
};

struct Finding {
    Fault fault = Fault::missing;
    int rank = 0;  // in whose row; of what is missing, the rank of its stage, or -1 if none has it
    PipelineAction action = {};
    int waits_for = -1;  // in a deadlock: the rank at the other end of the message

    auto operator<=>(const Finding&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Finds what is wrong with a schedule; nothing if all is right.
///
/// It looks for what is misplaced; if nothing is, for what is repeated or missing; if nothing is, for what is too early;
/// and at last for a deadlock. All of the first kind that is found are returned, in any order.
///
/// Each stage has for each micro-batch an F, and a B or an I and a W (where there is none of them, B is missing), and
/// with each neighbouring stage on another rank the messages that insert_messages() tells of.
///
/// In its row, F needs its RECV_F, or the F of the stage before if that is on the same rank. I and B need the F, and RECV_B
/// or the next stage's I or B. W needs its I, a SEND what it sends.
///
/// A RECV waits for its own SEND, whatever else was sent before. In a deadlock each rank that does not come to its end
/// is found once, with the message in which it waits.
///
/// rows           with messages
/// stages         numbered 0 to stages - 1
/// micro_batches  numbered 0 to micro_batches - 1
///
/// Cost    no message.
std::vector<Finding> validate(const Schedule& rows, int stages, int micro_batches, Sends sends);

}  // namespace dist
