// Passes all that it has around in every step: right, and p times the bytes.
// state: fail
// says: never all that is there
#include <algorithm>
#include <vector>

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
    std::vector<float> incoming(data.size());
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(data, incoming, comm);
        const Chunk c = chunk_bounds(data.size(), p, (r - 1 - s + p) % p);
        const auto part = std::span(incoming).subspan(c.begin, c.size());
        std::ranges::copy(part, chunk(r - 1 - s).begin());
    }
}

}  // namespace dist
