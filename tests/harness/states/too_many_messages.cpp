// Every rank starts five thousand receives at once, more than anybody needs.
// state: fail
// says: more than 4096 messages of a rank are under way at a time

#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    constexpr std::size_t kMessages = 5000;
    std::vector<float> in(kMessages);
    std::vector<MPI_Request> requests(kMessages);
    for (std::size_t i = 0; i < kMessages; ++i) {
        MPI_Irecv(
            &in[i], 1, MPI_FLOAT, (comm.rank() + 1) % comm.size(), static_cast<int>(i),
            comm.handle(), &requests[i]
        );
    }
}

}  // namespace dist
