// The one channel through which what carries messages tells the harness of them: the layers of MPI and NCCL do, and so
// does a transport of a chapter's own. From it messages and bytes are counted, rounds found (Note [Rounds]) and pictures
// drawn. Every rank tells its own side, in the thread that does it.
//
//     const int id = channel::sends({.peer = dst, .bytes = n});      the message is under way
//     channel::taken(id);                                            only where a sender waits for that
//
//     const int id = channel::awaits();                              a receive is posted
//     channel::receives({.peer = src, .bytes = n}, id);              its message is here
#pragma once

#include "course/trace/step.hpp"

namespace dist::harness::channel {

struct Carried {
    int peer = -1;  // rank in the communicator: of sends(), to whom; of receives(), from whom
    int bytes = 0;  // payload
    int tag = 0;
    float first = 0;              // the first float, where it is known
    int job_peer = peer;          // in the world of the job, where ranks have other numbers there
    trace::Payload payload = {};  // where keeps_payloads()
};

/// Whether what messages carry is to be told as well: `trace` asks for it, and no grade does.
bool keeps_payloads();

/// A message leaves; returns its number on this rank.
int sends(const Carried& message);

/// The calling thread knows that its message `id` has arrived.
void taken(int id);

/// A receive is posted; returns its number on this rank.
int awaits();

/// Receive `id` is through. The sender numbered the message `sender_id`; where nobody knows, it is the next of that
/// sender's, in the order in which they left.
inline constexpr int kInOrder = -1;
void receives(const Carried& message, int id, int sender_id = kInOrder);

/// While it lives, the calling thread waits for messages: shown in pictures with times.
class Waiting {
  public:
    Waiting();
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
};

}  // namespace dist::harness::channel
