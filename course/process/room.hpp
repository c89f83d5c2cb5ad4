// Whether there is room for what MPI and the ranks write. Open MPI 4.1 without it waits for ever.
#pragma once

#include <filesystem>
#include <string>

namespace dist::cli {

/// Where ranks of one machine share memory, as files.
inline constexpr const char* kSharedMemory = "/dev/shm";

/// Why `ranks` ranks could not run in `folder`, as one line that says what to do: a disk, or the memory
/// that ranks share, is full or cannot be written. Empty: they can.
std::string missing_room(int ranks, const std::filesystem::path& folder);

/// The same, with nothing but MPI in mind.
std::string missing_room(int ranks);

}  // namespace dist::cli
