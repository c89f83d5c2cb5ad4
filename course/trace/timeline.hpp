// What all ranks did with messages, brought together.
#pragma once

#include <string>
#include <vector>

#include "course/protocol/message_record.hpp"
#include "course/trace/parts.hpp"
#include "course/trace/step.hpp"

namespace dist::trace {

/// What a message carries.
struct Parcel {
    Part
        part;  // of the sender's memory or the receiver's: rather of one with a name, and that is more than the message
    Part from;           // where it is sent from
    Part into;           // where it is received
    std::string values;  // the first ones; empty: not known
};

struct Timeline {
    std::vector<harness::MessageRecord>
        messages;  // in the order of their last rounds, then of senders
    int rounds = 0;
    long right_rounds = Limits::kAny;
    bool cut = false;                       // there was more
    std::vector<std::string> calls = {""};  // of MessageRecord::call; 0: not known
    std::vector<Parcel> parcels = {};       // of MessageRecord::parcel
};

/// Logs by rank; one that is empty stands for a rank that left none.
Timeline timeline_of(const std::vector<Log>& logs);

}  // namespace dist::trace
