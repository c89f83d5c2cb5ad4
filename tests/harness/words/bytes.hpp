// Bytes in tests: how many are held, and what too many of them are likely to be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// What a known mistake would hold, or hold too much.
struct ByteSuspicion {
    std::size_t bytes = 0;
    std::string sentence;  // "that is a gradient in float32: it is no longer needed"
};

/// Is it as many to the byte? Prints as "expected 800 bytes, got 1200: ...".
///
/// wholes      what `got` would be with a known mistake.
/// too_many    what would be held beside what is expected.
inline Comparison same_bytes(
    std::size_t got,
    std::size_t expected,
    const std::vector<ByteSuspicion>& wholes = {},
    const std::vector<ByteSuspicion>& too_many = {}
) {
    if (got == expected) {
        return {};
    }
    const std::string text =
        "expected " + counted(expected, "byte") + ", got " + std::to_string(got);
    for (const ByteSuspicion& known : wholes) {
        if (got == known.bytes) {
            return {false, text + ": " + known.sentence};
        }
    }
    for (const ByteSuspicion& known : too_many) {
        if (got == expected + known.bytes) {
            return {false, text + ": " + known.sentence};
        }
    }
    return {false, text};
}

}  // namespace dist::harness
