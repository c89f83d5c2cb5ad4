// How much room there is: every block that `new` made since the tests began, and its length.
#pragma once

#include <cstddef>
#include <optional>

namespace dist::harness {

/// From here on blocks are known. Before, hundreds of thousands are LibTorch's own lists.
void follow_blocks();

/// Bytes from `place` to the end of the block that it lies in; none if it lies in none that is known:
/// on the stack, from malloc, or under a sanitizer, which knows better.
std::optional<std::size_t> room_at(const void* place);

}  // namespace dist::harness
