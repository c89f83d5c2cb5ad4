// Single keys from a terminal.
#pragma once

#include <optional>
#include <termios.h>

namespace dist::cli {

/// While it lives, a terminal gives each key at once and unseen; afterwards it is as it was. Ctrl-C
/// stays Ctrl-C, and Ctrl-Z Ctrl-Z. Without a terminal there are no keys.
class Keyboard {
  public:
    Keyboard();
    Keyboard(const Keyboard&) = delete;
    Keyboard& operator=(const Keyboard&) = delete;
    ~Keyboard();

    [[nodiscard]] bool on_terminal() const { return on_terminal_; }

    /// The next key, waiting for at most so long. Without a terminal: waits, and there is none.
    std::optional<char> key(int wait_ms);

  private:
    void take_single_keys() const;

    termios before_ = {};
    bool on_terminal_ = false;
};

}  // namespace dist::cli
