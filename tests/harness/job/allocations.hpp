// How much room there is: every block of the test's program that `new` made, and its length.
#pragma once

#include <cstddef>
#include <optional>

namespace dist::harness {

/// Bytes from `place` to the end of the block that it lies in; none if it lies in none that is known:
/// on the stack, from malloc, or under a sanitizer, which knows better.
std::optional<std::size_t> room_at(const void* place);

}  // namespace dist::harness
