// Every rank sends first, and no send returns before somebody receives.
// state: hang
// says: every rank sends first
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;

    for (int s = 0; s < p - 1; ++s) {
        send(chunk(r - s), next, comm);
        recv(chunk(r - 1 - s), prev, comm);
    }
}

}  // namespace dist
