#include "course/parallel/together.hpp"

#include <exception>
#include <string>

#include <mpi.h>

#include "course/parallel/stop.hpp"
#include "course/runtime/error.hpp"

namespace dist::trainer {

void together(const Communicator& comm, const std::function<void()>& work, int status) {
    std::string problem;
    int first = comm.size();  // the first rank that failed
    int failed = 0;
    try {
        work();
    } catch (const std::exception& error) {
        problem = error.what();
        first = comm.rank();
        failed = 1;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm.handle()));
    if (first == comm.size()) {
        return;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, comm.handle()));
    if (failed < comm.size()) {
        problem = "rank " + std::to_string(first) + ": " + problem;
    }
    auto length = static_cast<int>(problem.size());
    MPI_CHECK(MPI_Bcast(&length, 1, MPI_INT, first, comm.handle()));
    problem.resize(static_cast<std::size_t>(length));
    MPI_CHECK(MPI_Bcast(problem.data(), length, MPI_CHAR, first, comm.handle()));
    throw Stop(problem, status);
}

}  // namespace dist::trainer
