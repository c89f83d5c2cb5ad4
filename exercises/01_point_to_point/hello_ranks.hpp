// Exercise 01: the first message. Every rank says who it is, and rank 0 listens.
#pragma once

#include <string>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Brings a line of every rank to rank 0: "hello from rank R of P" and a '\n', R and P in decimal.
///
/// comm     collective: every rank of `comm` makes this call.
/// Returns  on rank 0 the lines of all p ranks, in the order of their ranks, its own first; on
///          every other rank the empty string. Which line arrives first makes no difference.
///
/// Cost     p-1 messages, the characters of one line each: every other rank sends to rank 0.
///          Lines differ in length: rank 10's has one character more than rank 9's.
/// Errors   dist::Error if a message fails.
/// Source   MPI 3.1 standard, sections 3.2.4, "Blocking Receive", and 3.8.1, "Probe".
std::string hello_ranks(const Communicator& comm);

}  // namespace dist
