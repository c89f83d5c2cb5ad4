// Every rank starts a hundred receives that nothing is sent to, and returns. Four are told.
// state: fail
// says: MPI_Irecv(from rank 1, tag 3, 4 bytes) was started, and no message ever came for it; and so on: 100 messages

#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    constexpr std::size_t kMessages = 100;
    static std::vector<float> in(kMessages);
    std::vector<MPI_Request> requests(kMessages);
    for (std::size_t i = 0; i < kMessages; ++i) {
        MPI_Irecv(
            &in[i], 1, MPI_FLOAT, (comm.rank() + 1) % comm.size(), static_cast<int>(i),
            comm.handle(), &requests[i]
        );
    }
}

}  // namespace dist
