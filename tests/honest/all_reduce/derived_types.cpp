// The whole span is one element of a type of its own.
// state: pass

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

namespace {

struct Whole {
    explicit Whole(int n) {
        MPI_CHECK(MPI_Type_contiguous(n, MPI_FLOAT, &type));
        MPI_CHECK(MPI_Type_commit(&type));
    }
    ~Whole() { MPI_Type_free(&type); }
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

    MPI_Datatype type = MPI_DATATYPE_NULL;
};

}  // namespace

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    reduce(data, op, 0, comm);
    const Whole whole(static_cast<int>(data.size()));
    if (comm.rank() == 0) {
        for (int dst = 1; dst < comm.size(); ++dst) {
            MPI_CHECK(MPI_Send(data.data(), 1, whole.type, dst, 0, comm.handle()));
        }
    } else {
        MPI_CHECK(MPI_Recv(data.data(), 1, whole.type, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
