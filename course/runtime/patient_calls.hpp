// What a rank that waits for a message does after half a second, and how much it has sent and how long that
// took, in programs with patient_calls.cpp.
#pragma once

#include <cstddef>
#include <functional>

#include <mpi.h>

namespace dist {

/// From now on, `told` is called again and again by every thread that has waited for more than half a
/// second in one MPI call, with the seconds so far. Set before there are such threads.
void on_long_wait(std::function<void(double waited_s)> told);

/// Bytes that this process has sent so far, from one to another, not by MPI's collectives.
std::size_t bytes_sent();

/// Of these, what went to the ranks of one communicator, and of others that had its handle before.
std::size_t bytes_sent(MPI_Comm comm);

/// Seconds that sending, receiving and waiting took so far.
struct MessageSeconds {
    double here = 0;       ///< on the calling thread
    double elsewhere = 0;  ///< on this process's other threads, added up; calls that have ended
};

MessageSeconds message_seconds();

}  // namespace dist
