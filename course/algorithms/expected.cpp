#include "course/algorithms/expected.hpp"

#include <algorithm>
#include <cmath>

#include "course/runtime/reduce_op.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist::lab {
namespace {

/// All but rank r's chunk becomes kAnything.
void keep_chunk(std::span<float> out, int p, int r) {
    const Chunk mine = chunk_bounds(out.size(), p, r);
    std::ranges::fill(out.first(mine.begin), kAnything);
    std::ranges::fill(out.subspan(mine.end), kAnything);
}

void keep_on_root(std::span<float> out, int r) {
    if (r != 0) {
        std::ranges::fill(out, kAnything);
    }
}

}  // namespace

long count_wrong(std::span<const float> data, std::span<const float> expected) {
    long wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        wrong += std::isnan(expected[i]) || data[i] == expected[i] ? 0 : 1;
    }
    return wrong;
}

void expect_sum(std::span<float> out, int p, int /*r*/, std::uint64_t seed) {
    std::ranges::fill(out, 0.0F);
    for (int src = 0; src < p; ++src) {
        accumulate(seeded_data(out.size(), src, seed), out, ReduceOp::sum);
    }
}

void expect_sum_on_root(std::span<float> out, int p, int r, std::uint64_t seed) {
    expect_sum(out, p, r, seed);
    keep_on_root(out, r);
}

void expect_chunk_of_sum(std::span<float> out, int p, int r, std::uint64_t seed) {
    expect_sum(out, p, r, seed);
    keep_chunk(out, p, r);
}

void expect_roots_data(std::span<float> out, int /*p*/, int /*r*/, std::uint64_t seed) {
    std::ranges::copy(seeded_data(out.size(), 0, seed), out.begin());
}

void expect_chunk_of_root(std::span<float> out, int p, int r, std::uint64_t seed) {
    expect_roots_data(out, p, r, seed);
    keep_chunk(out, p, r);
}

void expect_all_chunks(std::span<float> out, int p, int /*r*/, std::uint64_t seed) {
    for (int src = 0; src < p; ++src) {
        const Chunk chunk = chunk_bounds(out.size(), p, src);
        const auto data = seeded_data(out.size(), src, seed);
        std::ranges::copy(
            std::span(data).subspan(chunk.begin, chunk.size()),
            out.subspan(chunk.begin, chunk.size()).begin()
        );
    }
}

void expect_all_chunks_on_root(std::span<float> out, int p, int r, std::uint64_t seed) {
    expect_all_chunks(out, p, r, seed);
    keep_on_root(out, r);
}

void expect_blocks(std::span<float> out, int p, int r, std::uint64_t seed) {
    const std::size_t m = out.size() / static_cast<std::size_t>(p);
    std::ranges::fill(out, kAnything);  // what p does not divide is left over
    for (std::size_t src = 0; src < static_cast<std::size_t>(p); ++src) {
        const auto data = seeded_data(out.size(), static_cast<int>(src), seed);
        std::ranges::copy(
            std::span(data).subspan(static_cast<std::size_t>(r) * m, m),
            out.subspan(src * m, m).begin()
        );
    }
}

void expect_nothing(std::span<float> out, int /*p*/, int /*r*/, std::uint64_t /*seed*/) {
    std::ranges::fill(out, kAnything);
}

}  // namespace dist::lab
