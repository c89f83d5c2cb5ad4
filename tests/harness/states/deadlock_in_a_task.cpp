// Every rank asks for the result of a task that receives in vain, after a call of its own.
// state: hang
// says: MPI_Recv(from rank

#include <future>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int prev = (comm.rank() + comm.size() - 1) % comm.size();
    const Communicator others = comm.split(0, comm.rank());
    const auto receive = [&] {
        float x = 0;
        MPI_Recv(&x, 1, MPI_FLOAT, prev, 0, others.handle(), MPI_STATUS_IGNORE);
    };
    std::async(std::launch::async, receive).get();
}

}  // namespace dist
