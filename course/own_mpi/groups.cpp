// Communicators: groups of ranks, each with a context of its own, which no other group of any of its ranks has.
#include <algorithm>
#include <array>
#include <atomic>

#include "course/own_mpi/own_mpi.hpp"

namespace {

std::atomic<int> next_context = 2;  // that no communicator of this process has; 0 is the world's

}  // namespace

int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int PMPI_Comm_size(MPI_Comm comm, int* size) {
    *size = static_cast<int>(comm->ranks.size());
    return MPI_SUCCESS;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    using Row = std::array<int, 3>;  // color, key, the first context that is free
    const Row mine{color, key, next_context};
    std::vector<Row> all(comm->ranks.size());
    const int code = PMPI_Allgather(mine.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm);
    if (code != MPI_SUCCESS) {
        return code;
    }
    int context = 0;
    std::vector<int> members;  // by rank in comm
    for (std::size_t r = 0; r < all.size(); ++r) {
        context = std::max(context, all[r][2]);
        if (all[r][0] == color) {
            members.push_back(static_cast<int>(r));
        }
    }
    next_context = context + 2;
    *made = MPI_COMM_NULL;
    if (color != MPI_UNDEFINED) {
        const auto key_of = [&](int r) { return all[static_cast<std::size_t>(r)][1]; };
        std::ranges::stable_sort(members, {}, key_of);
        const auto place = std::ranges::find(members, comm->rank) - members.begin();
        for (int& member : members) {
            member = comm->ranks[static_cast<std::size_t>(member)];
        }
        *made = new OwnComm{members, static_cast<int>(place), static_cast<std::uint32_t>(context)};
    }
    return MPI_SUCCESS;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return PMPI_Comm_split(comm, 0, comm->rank, made);
}

int PMPI_Comm_free(MPI_Comm* comm) {
    delete *comm;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm /*comm*/, MPI_Errhandler /*handler*/) {
    return MPI_SUCCESS;
}

OWN_MPI(Comm_rank)
OWN_MPI(Comm_size)
OWN_MPI(Comm_split)
OWN_MPI(Comm_dup)
OWN_MPI(Comm_free)
OWN_MPI(Comm_set_errhandler)
