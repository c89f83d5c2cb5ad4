// Right: forty threads of each rank call MPI at a time.
// state: pass

#include <thread>
#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    constexpr int kThreads = 20;
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    std::vector<float> in(kThreads, -1);
    std::vector<std::thread> threads;
    for (int tag = 0; tag < kThreads; ++tag) {
        threads.emplace_back([&, tag] {
            MPI_Recv(
                &in[static_cast<std::size_t>(tag)], 1, MPI_FLOAT, prev, tag, comm.handle(),
                MPI_STATUS_IGNORE
            );
        });
        threads.emplace_back([&, tag] {
            const auto out = static_cast<float>(tag);
            MPI_Send(&out, 1, MPI_FLOAT, next, tag, comm.handle());
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (int tag = 0; tag < kThreads; ++tag) {
        if (in[static_cast<std::size_t>(tag)] != static_cast<float>(tag)) {
            throw Error("a message went to the wrong thread");
        }
    }
}

}  // namespace dist
