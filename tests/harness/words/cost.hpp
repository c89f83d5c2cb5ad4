// What a call may cost a rank, held against what it did cost.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// A number that has to lie in [least, most].
struct Bound {
    long least = 0;
    long most = std::numeric_limits<long>::max();
};
inline Bound exactly(long n) {
    return {n, n};
}
inline Bound at_most(long n) {
    return {0, n};
}

/// What one call may cost this rank. A field that is not set is not checked.
struct Cost {
    Bound messages_sent = {};
    Bound bytes_sent = {};
    Bound messages_received = {};
    Bound bytes_received = {};
    Bound rounds = {};
    std::optional<std::set<int>> sent_to = {};
    std::optional<std::set<int>> received_from = {};
    std::optional<std::set<int>> partners = {};  // both of these together
    std::optional<std::set<int>> among = {};     // all partners are of these, which need not all be
};

/// Whether `traffic` is within `cost`; otherwise it says by how much it is not: "it sent 56 bytes,
/// where at most 48 are right; ...".
Comparison within(const Traffic& traffic, const Cost& cost);

/// "0, 2", or "nobody".
std::string list(const std::set<int>& ranks);

/// Bytes of n floats.
inline long float_bytes(std::size_t n) {
    return static_cast<long>(n * sizeof(float));
}

/// n / p, rounded up.
inline long ceil_div(std::size_t n, int p) {
    return (static_cast<long>(n) + p - 1) / p;
}

/// The rounds of an algorithm that takes `best` at least. Twice as many are right as well: a rank may
/// first send, then receive, and receives that began together count in the order of their waits.
inline Bound rounds_within(long best) {
    return at_most(2 * best);
}

/// The rounds of `steps` steps on a ring of p ranks. Who first sends, then receives takes two for a step,
/// and three where p is odd: two senders stand side by side then.
inline Bound ring_rounds(long steps, int p) {
    return at_most(steps * (2 + p % 2));
}

}  // namespace dist::harness
