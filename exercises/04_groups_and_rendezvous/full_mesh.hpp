// Exercise 04: every process connected with every other one, found through a store.
#pragma once

#include <string>
#include <vector>

#include "course/net/socket.hpp"
#include "course/runtime/store.hpp"

namespace dist {

/// Connects this process with all others: one connection for each pair of ranks.
///
/// Every rank listens on a port of its own, and says in the store where: under "mesh/RANK", as "127.0.0.1:PORT" if that is
/// its address. Of a pair the higher rank connects, and says its rank first, as a uint32 in the machine's byte order. The
/// lower one takes who says a rank that it waits for, and closes every other connection.
///
/// store    the same for all `size` processes; no other ones use these keys of it.
/// rank     0 <= rank < size, another one in each process.
/// address  of this machine, as the others reach it.
/// timeout  for how long it waits for all the others together: for ever with Duration::max().
///
/// Returns  the sockets by rank; none at this rank's own place. Whether their calls wait is as connect_to and
///          accept_from leave it.
///
/// Cost    size - 1 connections, and 4 bytes through each. A set, and a wait and a get for each lower rank. No descriptor
///         is left but those that are returned; if it throws, none at all.
/// Errors  std::invalid_argument, before anything else, if there is no such rank. Error, which names a rank that has not
///         come within the timeout: of who connects, and of who is waited for.
/// Source  Gloo, gloo/rendezvous/context.cc, connectFullMesh, whose passive side waited for ever where the other one
///         had died (issue 520).
std::vector<net::Socket> full_mesh(
    Store& store,
    int rank,
    int size,
    const std::string& address = "127.0.0.1",
    Store::Duration timeout = Store::kTimeout
);

}  // namespace dist
