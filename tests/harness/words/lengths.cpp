// Apart from the other inputs: a simulation has lengths of its own.
#include "course/runtime/seeded.hpp"
#include "tests/harness/words/inputs.hpp"

namespace dist::harness {

std::vector<std::size_t> lengths(int p) {
    const auto ranks = static_cast<std::size_t>(p);
    constexpr std::uint64_t kSpread = 3000;
    const std::size_t drawn = 1001 + seeded_bits(~seed(), ranks) % kSpread;
    return {7, 0, 1, ranks - 1, ranks, ranks + 1, 1000, drawn, 300'000};
}

}  // namespace dist::harness
