// One build at a time: the build tool must not be started twice in one folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace dist::cli {

/// Held while a build runs; the script in front of this program takes the same lock. The file says who holds it.
class BuildLock {
  public:
    /// Waits until no other build runs.
    /// waits_for  is told who builds, where that takes more than a moment: "./shardlings check (process 4711)"
    /// Errors     Interrupted on Ctrl-C.
    explicit BuildLock(
        const std::filesystem::path& root,
        const std::function<void(const std::string& who)>& waits_for = nullptr
    );
    BuildLock(const BuildLock&) = delete;
    BuildLock& operator=(const BuildLock&) = delete;
    /// Unlocks, and does not only close: a program that was started meanwhile has the file open too.
    ~BuildLock();

  private:
    int file_;
};

}  // namespace dist::cli
