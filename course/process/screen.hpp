// How much a terminal shows.
#pragma once

#include <cstddef>
#include <optional>

namespace dist::cli {

struct Screen {
    std::size_t rows = 0;
    std::size_t columns = 0;
};

/// The size, at the moment, of the terminal that this file descriptor is; nothing for a file, a pipe, or a
/// terminal that does not tell.
std::optional<Screen> screen_of(int output);

/// Its columns; where there is no screen, lines have no end.
std::size_t columns_of(int output);

/// Whether it is a terminal that knows colours and how to clear a line: not one of TERM=dumb.
bool obeys_escapes(int output);

}  // namespace dist::cli
