#include "course/process/screen.hpp"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dist::cli {

std::optional<Screen> screen_of(int output) {
    winsize size = {};
    if (ioctl(output, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return std::nullopt;
    }
    return Screen{size.ws_row, size.ws_col};
}

std::size_t columns_of(int output) {
    const auto screen = screen_of(output);
    return screen ? screen->columns : std::string_view::npos;
}

bool obeys_escapes(int output) {
    const char* term = std::getenv("TERM");
    return isatty(output) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace dist::cli
