// Single keys from a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <termios.h>

namespace dist::cli {

struct Screen {
    std::size_t rows = 0;
    std::size_t columns = 0;
};

/// While it lives, a terminal gives each key at once and unseen; afterwards it is as it was. Ctrl-C
/// stays Ctrl-C. Without a terminal there are no keys.
class Keyboard {
  public:
    Keyboard();
    Keyboard(const Keyboard&) = delete;
    Keyboard& operator=(const Keyboard&) = delete;
    ~Keyboard();

    [[nodiscard]] bool on_terminal() const { return on_terminal_; }

    /// Its size now; nothing without a terminal.
    [[nodiscard]] std::optional<Screen> screen() const;

    /// The next key, waiting for at most so long. Without a terminal: waits, and there is none.
    std::optional<char> key(int wait_ms);

  private:
    termios before_ = {};
    bool on_terminal_ = false;
};

}  // namespace dist::cli
