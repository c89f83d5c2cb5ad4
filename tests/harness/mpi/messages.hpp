// Point-to-point messages of the code under test: posted, polled, counted, and completed by the
// layer.
//
// Note [Staging] A stopped test unwinds the student's frames, so its buffers die while MPI may
// still write. The layer sends from and receives into buffers of its own, and keeps abandoned ones
// for ever.
#pragma once

#include <memory>
#include <string>

#include <mpi.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {

/// Posts a message, synchronously: it is through only when somebody has received it. `name` is the
/// MPI call as the student wrote it.
MPI_Request post_send(
    const void* data,
    int count,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    const char* name
);

/// Posts a receive; the data is in `data` once the request is complete.
MPI_Request post_receive(
    void* data, int count, MPI_Datatype type, int src, int tag, MPI_Comm comm, const char* name
);

/// Posts the receive of a matched message (MPI_Mrecv, MPI_Imrecv).
MPI_Request post_matched_receive(
    void* data, int count, MPI_Datatype type, MPI_Message* message, const char* name
);

/// Remembers a request that is no message: the non-blocking collective number `count` of `comm`.
void adopt_request(
    MPI_Request request, const std::string& signature, MPI_Comm comm, std::uint64_t count
);

/// Whether a call of this layer has made the request, and it is not through yet.
bool is_pending(MPI_Request request);

/// Looks once; returns MPI's code and sets `done`. A finished request is completed and forgotten.
int test_request(MPI_Request* request, bool* done, MPI_Status* status);

/// Looks once, and leaves the request as it is (MPI_Request_get_status).
int look_at_request(MPI_Request request, bool* done, MPI_Status* status);

/// Waits until the request is through.
///
/// Errors  Stopped if the test was stopped meanwhile.
int wait_request(MPI_Request* request, MPI_Status* status);

/// The last message of this body that was longer than its receive: "rank 0 sent 8 bytes, the receive has
/// room for 4"; empty if there was none.
std::string truncation();

/// The request was asked for elsewhere, earlier than its message is under way: that is the place to show.
void note_origin(MPI_Request request, std::shared_ptr<const Frames> asked_at);

/// What the request was posted as.
RequestText describe(MPI_Request request);

/// Waits for a message to arrive, or looks once; counts of `status` are the payload's.
int probe(
    int src,
    int tag,
    MPI_Comm comm,
    bool blocking,
    bool* found,
    MPI_Message* message,
    MPI_Status* status,
    const char* name
);

/// Marks messages that are through but not waited for yet: they are no longer on their way.
void note_finished_messages();

/// An unsuccessful MPI_Test or MPI_Iprobe. Many of them in a row, with nothing moving, are waiting.
void unsuccessful_test(const RequestText& text);

/// Messages that were sent or awaited and never completed, in words; empty if all is well. Abandons
/// them, so that the next test starts clean.
std::string leftovers();

}  // namespace dist::harness
