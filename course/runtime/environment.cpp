#include "course/runtime/environment.hpp"

#include <cstdio>
#include <exception>

#include <mpi.h>

#include "course/runtime/error.hpp"

namespace dist {

int run_main(int argc, char** argv, const std::function<int(const Communicator&)>& body) {
    int status = 1;
    try {
        int provided = 0;
        MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        status = body(Communicator::world());
        MPI_CHECK(MPI_Finalize());
    } catch (const std::exception& error) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return status;
}

}  // namespace dist
