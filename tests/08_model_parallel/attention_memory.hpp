// What attention over a ring may hold: a few blocks of scores of a rank's own tokens with those of
// one rank, and a few tensors as large as its queries.
#pragma once

#include <string>
#include <vector>

#include "tests/08_model_parallel/whole_attention.hpp"
#include "tests/harness/words/memory.hpp"

namespace dist::harness {

/// So many blocks of scores and so many tensors like q, in bytes.
struct Room {
    std::size_t block, rows;
    [[nodiscard]] Comparison has(std::size_t bytes, std::size_t blocks, std::size_t tensors) const {
        return {
            bytes <= blocks * block + tensors * rows,
            std::to_string(bytes) + " bytes are held, where " + std::to_string(blocks) +
                " blocks of scores have " + std::to_string(blocks * block) + ", and " +
                std::to_string(tensors) + " tensors like q " + std::to_string(tensors * rows)};
    }
};

/// n tokens on each rank, heads of d numbers.
inline void holds_little(Way way, std::int64_t n, std::int64_t d, const Communicator& comm) {
    const WholeAttention whole(way, {1, 2, n * comm.size(), d});
    const OwnAttention mine(whole, comm);
    const at::Tensor gradient = whole.part(whole.gradient, comm.size(), comm.rank());
    const Room room{sizeof(float) * static_cast<std::size_t>(2 * n * n), mine.q.nbytes()};
    const MemoryBefore before;
    forget_peak();
    const at::Tensor out = mine.forward();
    const std::size_t forward = before.peak_since();
    const std::size_t kept = before.tensors_since();
    const Comparison beside = before.nothing_beside();
    forget_peak();
    out.backward(gradient);
    const std::size_t backward = before.peak_since();
    INFO(way.name << ", " << n << " tokens on each rank, heads of " << d);
    {
        INFO("in forward: are there scores, or keys and values, of more than one rank?");
        CHECK(room.has(forward, 3, 8));
    }
    {
        INFO("from forward to backward: scores are computed again, and keys come round again");
        const std::size_t result = room.rows + room.rows / static_cast<std::size_t>(d) * 2;
        const Comparison held = {
            kept <= result, std::to_string(kept) +
                                " bytes are kept, where the result and two floats for each of its "
                                "rows have " +
                                std::to_string(result)};
        CHECK(held);
        CHECK(beside);
    }
    INFO("in backward: are there scores, or keys and values, of more than one rank?");
    CHECK(room.has(backward, 3, 14));
}

/// Where scores are the larger part, and where keys are.
inline void holds_blocks_of_scores() {
    on_ranks({4, 1, 3}, [](const Communicator& comm) {
        for (const Way& way : kWays) {
            holds_little(way, 256, 3, comm);
            holds_little(way, 16, 1023, comm);
        }
    });
}

}  // namespace dist::harness
