// Processes that outlive the job they belong to.
#pragma once

#include <filesystem>
#include <string>

namespace dist::cli {

/// Ends what is left of a job when it goes out of scope: ranks that mpirun lost sight of, and whatever
/// the code under test started, also in sessions of their own. All of it has the job's environment.
class Leftovers {
  public:
    /// folder  what SHARDLINGS_RUN_FOLDER is in the job's environment, and in no other's.
    explicit Leftovers(const std::filesystem::path& folder);
    ~Leftovers();
    Leftovers(const Leftovers&) = delete;
    Leftovers& operator=(const Leftovers&) = delete;

  private:
    [[nodiscard]] bool belongs(const std::filesystem::path& process) const;
    [[nodiscard]] bool end_all() const;

    std::string mark_;
};

}  // namespace dist::cli
