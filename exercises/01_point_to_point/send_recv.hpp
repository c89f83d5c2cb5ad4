// Exercise 01: one rank sends, another receives. Everything else in this course is made of this.
#pragma once

#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Sends `data` to rank `dst`; returns when `data` may be changed again.
///
/// data    n >= 0 elements, left as they are.
/// dst     a rank of comm, other than this one.
/// tag     >= 0; only a recv with the same tag takes this message.
///
/// Cost    1 message of n floats.
/// Errors  dist::Error if the message fails; std::invalid_argument, before anything is sent, if n is
///         more than an int holds, which is what MPI counts with.
/// Source  MPI 3.1 standard, section 3.2, "Blocking Send and Receive Operations".
void send(std::span<const float> data, int dst, const Communicator& comm, int tag = 0);

/// Receives `data` from rank `src`; returns when all of it is there.
///
/// data    out: exactly the n elements that were sent.
/// src     a rank of comm, other than this one.
/// tag     the tag the message was sent with.
///
/// Cost    1 message of n floats.
/// Errors  dist::Error if the message fails, and if it is longer or shorter than `data`: a message
///         is never cut silently, and no buffer is silently left half old and half new.
///         std::invalid_argument as send().
/// Source  MPI 3.1 standard, section 3.2, "Blocking Send and Receive Operations".
void recv(std::span<float> data, int src, const Communicator& comm, int tag = 0);

}  // namespace dist
