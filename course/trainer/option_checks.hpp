// What an option's value may be. CLI11's own ranges name their limits, in up to 309 digits.
//
// Each returns what is wrong with `text`, for people; empty if nothing is.
#pragma once

#include <cstdint>
#include <string>

namespace dist::trainer {

std::string check_whole(const std::string& text, std::uint64_t least, std::uint64_t most);

/// Up to 10^12.
std::string check_from_0(const std::string& text);
std::string check_from_1(const std::string& text);

/// Above 0.
std::string check_rate(const std::string& text);

/// From 0 up to 1.
std::string check_below_1(const std::string& text);

/// Of 0 or more.
std::string check_decay(const std::string& text);

}  // namespace dist::trainer
