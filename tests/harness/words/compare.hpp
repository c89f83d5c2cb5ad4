// Comparisons that say what a wrong value is likely to be.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace dist::harness {

/// A value at an index where another was expected, and what it tells about the mistake.
struct Suspicion {
    std::vector<float> values;  // what a known mistake would leave
    std::string sentence;       // "that is this rank's own contribution: nothing was added to it"
};

/// The outcome of same(); prints as "index 7: expected 21, got 14 (3 of 12 differ)".
struct Comparison {
    bool equal = true;
    std::string text;
    explicit operator bool() const { return equal; }
    bool operator!() const { return !equal; }
};
std::ostream& operator<<(std::ostream& out, const Comparison& comparison);

/// Compares element by element; NaN equals nothing. `tolerance` is relative to the expected value, or
/// to 1 where that is smaller; 0 for equality. Of the suspicions, that which explains most of the
/// wrong values, from the first one on, adds its sentence; the earlier of two that explain as many.
Comparison same(
    std::span<const float> got,
    std::span<const float> expected,
    double tolerance = 0.0,
    const std::vector<Suspicion>& suspicions = {}
);

}  // namespace dist::harness
