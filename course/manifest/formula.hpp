// Formulas in whole numbers: what questions draw, and what their answers are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace dist::cli {

using Numbers = std::map<std::string, std::int64_t, std::less<>>;

/// The value of, say, "2 * n * (p - 1) / p". There are + - * / %, parentheses, min(a, b), max(a, b), pow2(a), log2(a),
/// which is rounded up, and the names of `numbers`. A quotient is rounded down; a remainder is at least 0.
///
/// Errors  std::invalid_argument with what is wrong, as for a number beyond 64 bits.
std::int64_t value_of(std::string_view formula, const Numbers& numbers = {});

/// `text` with the value of each {formula} in its place.
/// Errors  as value_of
std::string filled_in(std::string_view text, const Numbers& numbers);

}  // namespace dist::cli
