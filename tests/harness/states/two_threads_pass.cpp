// Right: one thread sends to the right while the other receives from the left.
// state: pass

#include <thread>
#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int prev = (comm.rank() - 1 + comm.size()) % comm.size();
    const std::vector<float> out(1000, 1);
    std::vector<float> in(1000);
    std::thread sender([&] { MPI_Send(out.data(), 1000, MPI_FLOAT, next, 0, comm.handle()); });
    MPI_CHECK(MPI_Recv(in.data(), 1000, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE));
    sender.join();
}

}  // namespace dist
