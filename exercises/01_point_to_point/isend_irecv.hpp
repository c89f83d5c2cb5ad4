// Exercise 01: a message that is under way while the program goes on.
#pragma once

#include <span>

#include <mpi.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"

namespace dist {

/// A message under way, or none. Its owner waits for it exactly once: by wait(), by wait_all(), or,
/// if neither was called, when the request is destroyed, also when an exception passes.
///
/// A request can be moved but not copied. A request that was moved from is empty. Assignment first
/// waits for the request that it replaces, as the destructor does.
class Request {
  public:
    Request() = default;  // empty: nothing is under way
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /// Waits if nobody has. It drops an error, because no destructor may throw: wait() tells it.
    ~Request();

    /// Returns when the message is through: what was sent may be changed, what was received is
    /// there. Does nothing if the request is empty, or was waited for before, also if it failed.
    ///
    /// Errors  dist::Error if the message failed, and if it is longer or shorter than the data of
    ///         irecv.
    void wait();

  private:
    friend Request isend(std::span<const float> data, int dst, const Communicator& comm, int tag);
    friend Request irecv(std::span<float> data, int src, const Communicator& comm, int tag);
    friend void wait_all(std::span<Request> requests);

    MPI_Request handle_ = MPI_REQUEST_NULL;  // null: empty, or waited for
    int expected_ = -1;                      // elements that have to come; -1 for a send
};

/// Starts to send `data` to rank `dst`, and returns at once, whether or not anybody receives.
///
/// data    n >= 0 elements, left as they are. Nobody may change or free them before wait().
/// dst     a rank of comm; also this one.
/// tag     >= 0; only a receive with the same tag takes this message.
///
/// Cost    1 message of n floats. Two ranks that both send first, then receive, then wait: 1 round.
/// Errors  dist::Error if the message cannot be started; wait() throws all other errors.
///         std::invalid_argument, before anything is started, if n is more than mpi_count() takes.
/// Source  MPI 3.1 standard, section 3.7, "Nonblocking Communication".
Request isend(std::span<const float> data, int dst, const Communicator& comm, int tag = 0);

/// Starts to receive `data` from rank `src`, and returns at once, whether or not anybody has sent.
///
/// data    out: exactly the n elements that were sent. Nobody may read or free them before wait().
/// src     a rank of comm; also this one.
/// tag     the tag the message was sent with.
///
/// Cost    1 message of n floats.
/// Errors  as isend().
/// Source  MPI 3.1 standard, section 3.7, "Nonblocking Communication".
Request irecv(std::span<float> data, int src, const Communicator& comm, int tag = 0);

/// Waits for all of `requests`, also if some fail.
///
/// Errors  the first one's error, in the order of `requests`, once all have been waited for.
void wait_all(std::span<Request> requests);

}  // namespace dist
