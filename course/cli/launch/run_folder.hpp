// The folder that one job runs in.
#pragma once

#include <filesystem>

#include "course/cli/process/context.hpp"

namespace dist::cli {

/// build/PRESET/runs/PID-NUMBER; goes when the job is done, whatever happened.
class RunFolder {
  public:
    /// Removes what commands that were killed have left beside it, too.
    /// keep  leave it, under a name that no later command takes for such a one.
    RunFolder(const Context& context, bool keep);
    ~RunFolder();
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    bool keep_;
};

/// Where all of them are.
std::filesystem::path run_folders(const Context& context);

}  // namespace dist::cli
