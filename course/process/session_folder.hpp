// What mpirun keeps on disk while it runs.
#pragma once

#include <filesystem>

#include "course/process/subprocess.hpp"

namespace dist::cli {

/// Where sessions lie: TMPDIR, TEMP or TMP, otherwise /tmp.
std::filesystem::path session_base();

/// A folder for one mpirun. It goes with this object, even when mpirun was killed and left its files. Without one, all
/// jobs of a user share a folder, which each makes if need be and the last removes; a job that begins just then does
/// not start.
class SessionFolder {
  public:
    /// Removes what commands that were killed have left beside it, too. Where no folder can be made, Open MPI makes the
    /// one that all share.
    SessionFolder();
    ~SessionFolder();
    SessionFolder(const SessionFolder&) = delete;
    SessionFolder& operator=(const SessionFolder&) = delete;
    /// Adds what tells mpirun of it.
    void add_to(Environment& environment) const;

  private:
    std::filesystem::path path_;
};

}  // namespace dist::cli
