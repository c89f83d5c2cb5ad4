#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {  // numbers go around: -1 is p-1
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };

    // after step s, rank r has chunk r and the s+1 chunks before it
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(chunk(r - s), chunk(r - 1 - s), comm);
    }
}

}  // namespace dist
