// What the launcher has drawn for a job, in the file "secret" of the run folder. The code under test is in the same process
// as the tests, and may read all of its memory: there, neither the seed nor whether messages are garbled looks like anything, and
// the key of the records is gone when its first line is written (seal.hpp).
#pragma once

#include <cstdint>

#include "course/protocol/seal.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::harness {

/// What becomes of the bytes of messages on their way to the code under test.
enum class Garble : std::uint64_t { none, others, zeros };

struct Secret {
    std::uint64_t word[2] = {0, 0};
    std::uint64_t seed = 0;    // under a mask
    std::uint64_t garble = 0;  // the lowest two bits, under a mask
    SealKey records = {0, 0};  // their key

    static constexpr std::uint64_t kWays = 4;

    /// `word`, `noise` and `records` are random.
    static constexpr Secret of(
        std::uint64_t word0,
        std::uint64_t word1,
        std::uint64_t noise,
        const SealKey& records,
        std::uint64_t seed,
        Garble garble
    ) {
        const Secret blank{{word0, word1}, 0, 0, records};
        const std::uint64_t way = noise - noise % kWays + static_cast<std::uint64_t>(garble);
        return {{word0, word1}, seed ^ blank.mask(0), way ^ blank.mask(1), records};
    }

    /// False where no launcher wrote it.
    [[nodiscard]] constexpr bool drawn() const { return word[0] != 0 || word[1] != 0; }
    [[nodiscard]] constexpr std::uint64_t shown_seed() const { return seed ^ mask(0); }
    [[nodiscard]] constexpr Garble shown_garble() const {
        return static_cast<Garble>((garble ^ mask(1)) % kWays);
    }

  private:
    [[nodiscard]] constexpr std::uint64_t mask(std::uint64_t number) const {
        return seeded_bits(word[0] ^ seeded_bits(word[1], number), number);
    }
};

}  // namespace dist::harness
