#include "course/process/room.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "course/process/session_folder.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMb = 1e6;
constexpr double kSessionMb = 9;    // Open MPI 4.1: two segments of 4 MiB, and small files
constexpr double kSegmentMb = 4.3;  // it asks for this much for each rank, and begins with 72 KiB
constexpr double kBeginMb = 0.08;
constexpr double kRunMb = 4;  // the board, records, and a first few lines of output

/// The folder itself, or the one that it would be made in.
fs::path existing(fs::path folder) {
    std::error_code unreadable;
    while (!fs::exists(folder, unreadable) && folder.has_relative_path()) {
        folder = folder.parent_path();
    }
    return folder.empty() ? "." : folder;
}

bool writable(const fs::path& folder) {
    return access(existing(folder).c_str(), W_OK | X_OK) == 0;
}

/// What is wrong with a folder that needs so much room; empty: nothing.
std::string wrong_with(const fs::path& folder, const std::string& purpose, double mb) {
    if (!writable(folder)) {
        return fmt::format("{}, {}, cannot be written", folder.string(), purpose);
    }
    struct statvfs disk {};
    if (statvfs(existing(folder).c_str(), &disk) != 0 || disk.f_blocks == 0) {
        return "";
    }
    const double free_mb =
        static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / kMb;
    return free_mb >= mb ? ""
                         : fmt::format(
                               "no space left in {}, {}: {:.1f} MB, and {:.1f} are needed",
                               folder.string(), purpose, free_mb, mb
                           );
}

}  // namespace

std::string missing_room(int ranks) {
    const double shared_mb = kSegmentMb + kBeginMb * ranks;
    const bool shared = writable(kSharedMemory);  // otherwise it shares files in its session
    const std::string session = wrong_with(
        session_base(), "where MPI keeps its session", kSessionMb + (shared ? 0 : shared_mb)
    );
    if (!session.empty()) {
        return session + "; set TMPDIR to a folder with room";
    }
    const std::string memory =
        shared ? wrong_with(kSharedMemory, "the memory that ranks share", shared_mb) : "";
    return memory.empty() ? ""
                          : memory +
                                "; remove what is in it, or make it larger (for a container: "
                                "docker run --shm-size=256m)";
}

std::string missing_room(int ranks, const fs::path& folder) {
    const std::string run = wrong_with(folder, "where a run leaves its records", kRunMb);
    return run.empty() ? missing_room(ranks) : run + "; make room on that disk";
}

}  // namespace dist::cli
