// How the ranks of an NCCL communicator find each other on the stand-in.
#pragma once

#include <mpi.h>

namespace dist::stand_in {

/// What ncclUniqueId holds here: where the ranks of a communicator meet.
struct Meeting {
    int host;  // rank in the world
    int number;
};

/// A communicator of the processes that call with the same meeting, in the order of their ranks.
/// Collective over them; the host is rank 0.
MPI_Comm meet(const Meeting& meeting, int size, int rank);

}  // namespace dist::stand_in
