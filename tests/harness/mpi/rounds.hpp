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

namespace dist::harness {

enum class Did : int { send, receive, wait_send, wait_receive, start_thread, join_thread };

/// What a thread of a rank did.
struct Step {
    Did did = Did::send;
    int thread = 0;  // who did it
    int id = 0;      // of the message, numbered by the rank that posted it, or of the other thread
    int peer = -1;  // of a receive that was waited for: the sender, and how it numbered the message
    int peer_id = -1;
};

/// When a message left and was there; `id` is the receiver's number for the receive.
struct Delivery {
    int receiver = 0;
    int id = 0;
    int begin = 0;
    int end = 0;
};

struct Schedule {
    int rounds = 0;
    std::vector<Delivery> deliveries;  // in the order of receivers, and of their numbers
};

/// Plays the logs of all ranks, by rank; peers are ranks too, -1 for one whose log is not there.
Schedule play(const std::vector<std::vector<Step>>& logs, bool half_duplex);

}  // namespace dist::harness
