// A file that is there as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace dist::trainer {

/// Writes `bytes` beside `path`, brings them to the disk, and only then gives them the name `path`:
/// whatever happens, what `path` named before stays until the new file is complete. Ctrl-C (SIGINT,
/// SIGTERM) meanwhile removes the unfinished file and ends the process, as it would have.
///
/// Cost    not for two threads at once.
/// Errors  std::runtime_error with the system's reason: no space left, no such folder, ...
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace dist::trainer
