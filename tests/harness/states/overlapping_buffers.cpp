// MPI_Sendrecv from and into the same memory: right by chance, as long as messages are short.
// state: forbidden
// says: MPI_Sendrecv was called. Its two buffers overlap
// says: pass  after: a test that passes all the same

#include <array>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int p = comm.size();
    std::array<float, 8> data{};
    MPI_CHECK(MPI_Sendrecv(
        data.data(), 5, MPI_FLOAT, (comm.rank() + 1) % p, 0,          //
        data.data() + 4, 4, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0,  //
        comm.handle(), MPI_STATUS_IGNORE
    ));
}

}  // namespace dist
