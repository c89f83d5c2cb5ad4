#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

void shared_memory_all_reduce(SharedBuffer& data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const Chunk mine = chunk_bounds(data.size(), p, comm.rank());
    // In pieces that stay in the cache between being added and being written.
    constexpr std::size_t kPiece = 2048;

    data.synchronize();  // every contribution has been written
    for (std::size_t begin = mine.begin; begin < mine.end; begin += kPiece) {
        const std::size_t length = std::min(kPiece, mine.end - begin);
        const auto piece = [&](int rank) { return data.of(rank).subspan(begin, length); };
        const auto sum = piece(0);
        for (int src = 1; src < p; ++src) {
            accumulate(piece(src), sum, op);
        }
        if (op == ReduceOp::mean) {
            scale(sum, 1.0F / static_cast<float>(p));
        }
        for (int dst = 1; dst < p; ++dst) {
            std::ranges::copy(sum, piece(dst).begin());
        }
    }
    data.synchronize();  // every slice of the result has been written
}

}  // namespace dist
