// Text to train on: files as bytes, cut into windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace dist::data {

/// Bytes of a text, looked at through windows that lie side by side.
class Windows {
  public:
    Windows() = default;

    /// context  bytes that a window shows; each also needs the one that follows it.
    Windows(std::vector<std::uint8_t> bytes, std::size_t context);

    /// How many whole windows there are.
    [[nodiscard]] std::size_t size() const;

    /// context + 1 bytes: window i shows all but the last; what comes next, at each place, are all but the first.
    [[nodiscard]] std::span<const std::uint8_t> window(std::size_t i) const;

    [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
    [[nodiscard]] std::size_t context() const { return context_; }

    /// Keeps the first n windows, if there are more.
    void truncate(std::size_t n);

  private:
    std::vector<std::uint8_t> bytes_;
    std::size_t context_ = 1;
};

/// What a run trains and tests on.
struct Text {
    Windows train;
    Windows test;
    std::string source;  ///< "the course's lessons", or the files
};

/// Reads files, one behind the other, and cuts off the last tenth of each for the test.
///
/// files    none: the course's lessons.
/// context  of the windows.
/// train_size, test_size  at most so many windows; 0: all there are.
///
/// Errors   std::runtime_error, saying what to do, if a file cannot be read, or the text is too short for one window to
///          train on and one to test.
Text load_text(
    const std::vector<std::filesystem::path>& files,
    std::size_t context,
    std::size_t train_size,
    std::size_t test_size
);

}  // namespace dist::data
