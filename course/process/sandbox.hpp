// A sandbox for code from strangers: bubblewrap starts a program in namespaces of its own.
//
// Inside, the system can be read and not written; of all other files only those are there that are named
// below. There is no network, no other process, and no memory of others; what is written goes to the named
// folders, or to a file system in memory that goes with the program. When the program ends, so does all
// that it has started, whatever it did to hide.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

struct Sandbox {
    std::vector<std::filesystem::path> readable = {};  // each at its own place
    std::vector<std::filesystem::path> writable = {};
    std::filesystem::path run = {};  // writable as well, and kSandboxRun inside
    bool gpu = false;                // NVIDIA's devices are there as well
    long scratch_mb = 512;           // of /tmp and of /dev/shm, each
    long memory_mb = 0;              // of address space, a process; 0: no limit
    long file_mb = 512;              // the longest file
};

/// Where a run's folder is, inside of a sandbox: below nothing that a rank may write, wherever the course is.
inline constexpr const char* kSandboxRun = "/run/shardlings";

/// Where ranks find memory that they share, inside of a sandbox.
inline constexpr const char* kSandboxShared = "/dev/shm/run";

/// `command`, inside of one: it sees `environment` and nothing of this process's own, and begins in `folder`.
std::vector<std::string> sandboxed(
    const std::vector<std::string>& command,
    const Sandbox& sandbox,
    const Environment& environment,
    const std::filesystem::path& folder
);

/// Why there can be none on this machine, as a sentence that says what to do; empty: there can.
std::string sandbox_missing(const Context& context);

}  // namespace dist::cli
