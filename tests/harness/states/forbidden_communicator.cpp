// MPI_Comm_split_type, which makes a communicator, and which this program may not call.
// state: forbidden
// says: MPI_Comm_split_type was called
// says: This program may not call it
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
}

}  // namespace dist
