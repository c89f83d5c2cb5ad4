// A datatype that rank 1 makes and never frees; the group of ranks beside it is freed.
// state: fail
// says: rank 1
// says: 1 datatype was made by MPI_Type_contiguous and never freed: MPI_Type_free
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_CHECK(MPI_Comm_group(comm.handle(), &group));
    MPI_CHECK(MPI_Group_free(&group));
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_CHECK(MPI_Type_contiguous(2, MPI_FLOAT, &pair));
    MPI_CHECK(MPI_Type_commit(&pair));
    if (comm.rank() != 1) {
        MPI_CHECK(MPI_Type_free(&pair));
    }
}

}  // namespace dist
