// A message as the tests record it and pictures show it.
#pragma once

namespace dist::harness {

/// A message that the code under test sent, in rounds: it leaves when `begin`
/// rounds are over, and is there when `end` are. end - begin - 1 rounds long nobody takes it.
struct MessageRecord {
    int src = 0;  // ranks in `comm`
    int dst = 0;
    int tag = 0;
    int bytes = 0;  // payload only
    int begin = 0;
    int end = 0;
    float first = 0;         // its first float: data[i] = i tells which part of the data it carries
    bool is_excess = false;  // it is more than its sender may send
    bool is_lost = false;    // nobody took it: `end` is begin + 1
    int call = 0;            // whose message it is: see trace::Timeline
    int parcel = -1;         // what it carries: likewise; -1: not known
};

}  // namespace dist::harness
