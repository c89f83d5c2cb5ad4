#include "tests/harness/gpu/stand_in/meeting.hpp"

#include <cstdint>
#include <vector>

#include "tests/harness/mpi/groups.hpp"

namespace dist::stand_in {

MPI_Comm meet(const Meeting& meeting, int size, int rank) {
    std::vector<int> members(static_cast<std::size_t>(size));
    int me = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    const int tag = meeting.number % 30000;
    const int mine[2] = {rank, me};
    MPI_Request sent = MPI_REQUEST_NULL;
    PMPI_Isend(mine, 2, MPI_INT, meeting.host, tag, MPI_COMM_WORLD, &sent);
    if (rank == 0) {
        for (int i = 0; i < size; ++i) {
            int theirs[2];
            PMPI_Recv(theirs, 2, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            members[static_cast<std::size_t>(theirs[0])] = theirs[1];
        }
        for (const int member : members) {
            if (member != me) {
                PMPI_Send(members.data(), size, MPI_INT, member, tag + 30000, MPI_COMM_WORLD);
            }
        }
    } else {
        PMPI_Recv(
            members.data(), size, MPI_INT, meeting.host, tag + 30000, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        );
    }
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_incl(world, size, members.data(), &group);
    PMPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
    harness::declare_group(
        comm, 1'000'000U + static_cast<std::uint64_t>(meeting.host),
        static_cast<std::uint64_t>(meeting.number)
    );
    return comm;
}

}  // namespace dist::stand_in
