// All receives are under way at once; the lines are put together when all are there.
#include <array>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/hello_ranks.hpp"

namespace dist {

std::string hello_ranks(const Communicator& comm) {
    std::string text = "hello from rank " + std::to_string(comm.rank()) + " of " +
                       std::to_string(comm.size()) + "\n";
    if (comm.rank() != 0) {
        const int n = static_cast<int>(text.size());
        MPI_CHECK(MPI_Send(text.data(), n, MPI_CHAR, 0, 0, comm.handle()));
        return "";
    }
    const auto others = static_cast<std::size_t>(comm.size() - 1);
    std::vector<std::array<char, 64>> lines(others);
    std::vector<MPI_Request> requests(others, MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(others);
    for (std::size_t i = 0; i < others; ++i) {
        const int src = static_cast<int>(i) + 1;
        MPI_CHECK(MPI_Irecv(lines[i].data(), 64, MPI_CHAR, src, 0, comm.handle(), &requests[i]));
    }
    MPI_CHECK(MPI_Waitall(comm.size() - 1, requests.data(), statuses.data()));
    for (std::size_t i = 0; i < others; ++i) {
        int n = 0;
        MPI_CHECK(MPI_Get_count(&statuses[i], MPI_CHAR, &n));
        text.append(lines[i].data(), static_cast<std::size_t>(n));
    }
    return text;
}

}  // namespace dist
