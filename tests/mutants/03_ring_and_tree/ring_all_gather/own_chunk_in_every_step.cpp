// Sends its own chunk in every step, and puts what comes in one place further each time.
// state: fail
// says: in the wrong place
#include <algorithm>
#include <cstddef>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const Chunk own = chunk_bounds(data.size(), p, r);
    const std::vector<float> mine(
        data.begin() + static_cast<std::ptrdiff_t>(own.begin),
        data.begin() + static_cast<std::ptrdiff_t>(own.end)
    );
    std::vector<float> incoming(chunk_bounds(data.size(), p, (r - 1 + p) % p).size());
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(mine, incoming, comm);
        const Chunk place = chunk_bounds(data.size(), p, (r - 1 - s + p) % p);
        const std::size_t both = std::min(place.size(), incoming.size());
        std::ranges::copy(std::span(incoming).first(both), data.subspan(place.begin, both).begin());
    }
}

}  // namespace dist
