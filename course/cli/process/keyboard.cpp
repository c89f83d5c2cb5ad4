#include "course/cli/process/keyboard.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dist::cli {

Keyboard::Keyboard()
    : on_terminal_(
          isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 &&
          tcgetattr(STDIN_FILENO, &before_) == 0
      ) {
    if (on_terminal_) {
        termios single_keys = before_;
        single_keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &single_keys);
    }
}

Keyboard::~Keyboard() {
    if (on_terminal_) {
        tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
}

std::optional<Screen> Keyboard::screen() const {
    winsize size = {};
    if (!on_terminal_ || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
        return std::nullopt;
    }
    return Screen{size.ws_row, size.ws_col};
}

std::optional<char> Keyboard::key(int wait_ms) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, on_terminal_ ? 1 : 0, wait_ms) <= 0) {
        return std::nullopt;
    }
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) == 1) {
        return key;
    }
    return 'q';  // the terminal is gone
}

}  // namespace dist::cli
