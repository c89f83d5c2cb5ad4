// What workers write to standard error, in files: so that the last words of one that failed can be read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/runtime/rounds.hpp"

namespace dist::elastic {

class WorkerLogs {
  public:
    /// folder  is made, with those above it; empty: a temporary one, which goes at the end unless it is to be kept.
    ///
    /// Errors  std::filesystem::filesystem_error
    explicit WorkerLogs(const std::filesystem::path& folder);
    ~WorkerLogs();
    WorkerLogs(const WorkerLogs&) = delete;
    WorkerLogs& operator=(const WorkerLogs&) = delete;

    /// The command that runs `command` with its standard error in the file of its rank and round.
    static std::vector<std::string> keep(const std::vector<std::string>& command);

    /// The workers that are started from now on are those of this round.
    void begin(const WorkerRound& round);

    /// The file of a rank in this round.
    [[nodiscard]] std::filesystem::path file(int rank) const;

    /// The last lines of that file, at most so many; none if it is empty.
    [[nodiscard]] std::vector<std::string> last_words(int rank, std::size_t lines) const;

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

    /// The folder stays. Returns it.
    std::filesystem::path stay();

  private:
    std::filesystem::path folder_;
    bool is_temporary_;
    WorkerRound round_ = {};
};

}  // namespace dist::elastic
