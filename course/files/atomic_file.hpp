// A file that is there as a whole or not at all: for everything that the course writes and means to keep.
#pragma once

#include <filesystem>
#include <string_view>

namespace dist::files {

/// Writes `bytes` beside `path`, brings them to the disk, and only then gives them the name `path`:
/// whatever happens, a power cut too, what `path` named before stays until the new file is complete.
/// Ctrl-C (SIGINT, SIGTERM, SIGHUP) meanwhile removes the unfinished file, and then does what it would
/// have done. A device or a pipe is written as it is, and never replaced by a file.
///
/// Several threads and processes may write at the same time, also the same file: then one wins.
///
/// Errors  std::system_error: "cannot write PATH; ...: No space left on device", or the system's other
///         reason.
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Tells before long work whether write_atomically could begin. Leaves nothing behind.
///
/// Errors  as write_atomically.
void check_writable(const std::filesystem::path& path);

}  // namespace dist::files
