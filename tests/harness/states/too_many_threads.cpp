// Eighty threads of each rank wait in MPI at a time, more than anybody needs.
// state: forbidden
// says: more than 64 threads of a rank call MPI at a time
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <thread>
#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    constexpr int kThreads = 80;
    const int p = comm.size();
    std::vector<float> in(kThreads);
    std::vector<std::thread> threads;
    for (int tag = 0; tag < kThreads; ++tag) {
        threads.emplace_back([&, tag] {
            MPI_Recv(
                &in[static_cast<std::size_t>(tag)], 1, MPI_FLOAT, (comm.rank() + 1) % p, tag,
                comm.handle(), MPI_STATUS_IGNORE
            );
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace dist
