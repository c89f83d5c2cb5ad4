// Stops one step too early: the chunk of the next rank never comes.
// state: fail
// says: that was here before the call: no chunk came to this place
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };

    for (int s = 0; s < p - 2; ++s) {
        ring_shift(chunk(r - s), chunk(r - 1 - s), comm);
    }
}

}  // namespace dist
