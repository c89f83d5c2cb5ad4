// How many rounds the messages of a record() took.
//
// Note [Rounds] Each rank logs what its threads do, in their order: a message posted, waited for, a
// thread started, joined. After the body the logs of all ranks are played again on a machine whose
// clock counts rounds: in each round every rank sends one message and receives one. A message leaves in
// the first round in which its sender has no earlier one to send; it comes in in the first round from
// then on in which its receive is posted and the receiver takes in no other. A thread goes on after a
// wait when its message has come in, the sender's as well: sends are synchronous here. A thread that is
// started begins in the round of the one that starts it, and who joins it goes on in the round in which
// it ended. All else costs nothing; what threads tell each other by other means is not seen.
//
// So neither the time that a machine takes counts, nor the order in which a program waits for receives
// that it posted together. `half_duplex` plays the same logs where a rank either sends or receives in a
// round: a program of blocking calls in turn takes as long on both machines, one that sends while it
// receives is slower on this one.
#pragma once

#include <vector>

#include "course/trace/step.hpp"

namespace dist::trace {

inline constexpr int kNever = -1;

/// When a message left and was there; `id` is the receiver's number for the receive.
struct Delivery {
    int receiver = 0;
    int id = 0;
    int begin = 0;
    int end = 0;
};

/// The same of every message, by its sender and the sender's number; `end` is kNever where nobody waited for it.
struct Departure {
    int sender = 0;
    int id = 0;
    int begin = 0;
    int end = 0;
    int taken_as = kNever;  // the receiver's number for the receive
};

struct Schedule {
    int rounds = 0;
    std::vector<Delivery> deliveries;   // in the order of receivers, and of their numbers
    std::vector<Departure> departures;  // in the order of senders, and of their numbers
};

/// Plays the logs of all ranks, by rank; peers are ranks too, -1 for one whose log is not there. A receive that does not say
/// which message it took (Step::peer_id) took the next one of that sender.
Schedule play(const std::vector<std::vector<Step>>& logs, bool half_duplex);

}  // namespace dist::trace
