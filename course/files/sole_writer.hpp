// A file that one process after another writes, each of which takes it from the one before.
#pragma once

#include <filesystem>
#include <string_view>

namespace dist::files {

/// The right to write a file. Who takes it takes it away from whoever had it, whether that one is
/// dead, cut off or only slow: it writes the file no more.
///
/// Each has a folder of its own beside the file, writes there, and moves what is whole to its place.
/// Who comes next moves that folder away. So neither a clock nor a lock decides, but the file
/// system, at the moment of the move. Where several take the right at the same time, at most one
/// has it then.
class SoleWriter {
  public:
    /// Takes the right: from now on the file stays as it is, until write().
    ///
    /// path    of the file; the folder that it is in is there.
    /// Errors  std::system_error
    explicit SoleWriter(const std::filesystem::path& path);

    /// Removes its folder. One that was killed leaves it, until the next takes the right.
    ~SoleWriter();
    SoleWriter(const SoleWriter&) = delete;
    SoleWriter& operator=(const SoleWriter&) = delete;

    /// As write_atomically().
    ///
    /// Errors  std::runtime_error if another one has taken the right; else as write_atomically().
    void write(std::string_view bytes);

  private:
    std::filesystem::path path_;
    std::filesystem::path folder_;
};

}  // namespace dist::files
