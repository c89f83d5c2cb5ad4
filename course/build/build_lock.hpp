// One build at a time: the build tool must not be started twice in one folder.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

/// Held while a build runs; the script in front of this program takes the same lock.
class BuildLock {
  public:
    /// Waits until no other build runs.
    /// Errors  Interrupted on Ctrl-C.
    explicit BuildLock(const std::filesystem::path& root)
        : file_(open(
              (root / ".shardlings" / "build.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644
          )) {
        while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
            if (interrupted()) {
                close(file_);
                throw Interrupted();
            }
        }
    }
    BuildLock(const BuildLock&) = delete;
    BuildLock& operator=(const BuildLock&) = delete;
    /// Unlocks, and does not only close: a program that was started meanwhile has the file open too.
    ~BuildLock() {
        flock(file_, LOCK_UN);
        close(file_);
    }

  private:
    int file_;
};

}  // namespace dist::cli
