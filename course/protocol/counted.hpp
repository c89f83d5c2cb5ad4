// A number and what it counts, as English wants it.
#pragma once

#include <concepts>
#include <string>

namespace dist::harness {

/// "1 float", "7 floats"
std::string counted(std::integral auto n, const std::string& noun) {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace dist::harness
