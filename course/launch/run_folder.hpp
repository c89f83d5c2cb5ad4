// The folders that one job runs in.
#pragma once

#include <filesystem>

#include "course/process/context.hpp"
#include "course/process/session_folder.hpp"

namespace dist::cli {

/// build/PRESET/runs/PID-NUMBER, one in the memory that ranks share, and one for mpirun's session, because an mpirun that
/// was killed leaves its files there; all go when the job is done, whatever happened.
class RunFolder {
  public:
    /// Removes what commands that were killed have left beside it, too.
    /// keep  leave it, under a name that no later command takes for such a one.
    RunFolder(const Context& context, bool keep);
    ~RunFolder();
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// For the files through which ranks pass messages; empty where there is no /dev/shm.
    [[nodiscard]] const std::filesystem::path& shared() const { return shared_; }
    [[nodiscard]] const SessionFolder& session() const { return session_; }

  private:
    std::filesystem::path path_;
    std::filesystem::path shared_;
    SessionFolder session_;
    bool keep_;
};

/// Where all of them are.
std::filesystem::path run_folders(const Context& context);

}  // namespace dist::cli
