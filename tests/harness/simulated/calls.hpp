// What the harness's own MPI_Send and the like share, on SimGrid's MPI: they note what a call says, show who waits, and let PMPI do it.
#pragma once

#include <string>

#include <mpi.h>

#include "tests/harness/mpi/pending.hpp"

namespace dist::harness::simulated {

int bytes_of(int n, MPI_Datatype type);

/// A call of the code under test, to or from `rank`; `bytes` is negative where no size is known.
RequestText noted(const char* name, bool is_send, int rank, int tag, int bytes, MPI_Comm comm);

/// A call that says whether something has come, and does not wait for it.
void note_question(const std::string& call);

/// A message is there.
void note_arrival(const MPI_Status& status, MPI_Comm comm, const std::string& call);

/// What the call returned; a message that did not fit is noted.
int looked_at(int code);

void give(const MPI_Status& status, MPI_Status* to);

/// MPI_Recv, of a message that a probe has taken or of one that is to come.
int receive(void* b, int n, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Status* got);

/// Ends the test if a probe has taken the message: only MPI_Recv and MPI_Mrecv hand it on.
void expect_not_probed(int src, int tag, MPI_Comm comm);

}  // namespace dist::harness::simulated
