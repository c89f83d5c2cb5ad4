#include "course/process/keyboard.hpp"

#include <poll.h>
#include <unistd.h>

namespace dist::cli {

Keyboard::Keyboard()
    : on_terminal_(
          isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 &&
          tcgetattr(STDIN_FILENO, &before_) == 0
      ) {
    take_single_keys();
}

Keyboard::~Keyboard() {
    if (on_terminal_) {
        tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
}

// In the background the terminal is another program's.
void Keyboard::take_single_keys() const {
    termios now = {};
    if (!on_terminal_ || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &now) != 0 || (now.c_lflag & ICANON) == 0) {
        return;
    }
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

std::optional<char> Keyboard::key(int wait_ms) {
    take_single_keys();  // a shell that stopped this program and goes on with it has its own way
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
