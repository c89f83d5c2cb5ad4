// Where a training left its checkpoint, and the line that goes on from it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/trainer/options.hpp"

namespace dist::cli {

/// Looks at a run's checkpoint before the run, and tells of it afterwards.
class CheckpointLine {
  public:
    /// command  the run's words, from "./shardlings" on, with the trainer's own at the end.
    CheckpointLine(const trainer::Options& options, std::vector<std::string> command);

    /// Lines for the screen; empty if the run wrote no checkpoint.
    ///
    /// done  all of its steps are.
    [[nodiscard]] std::string text(bool done) const;

    /// The same of a run that was interrupted: also where its checkpoint is the one that it went on from, or where it has none yet.
    [[nodiscard]] std::string text_when_interrupted() const;

  private:
    [[nodiscard]] std::string lines(bool done) const;

    std::filesystem::path file_;  // empty: none is asked for
    std::optional<std::filesystem::file_time_type> before_;
    std::vector<std::string> command_;
    bool resumed_;
};

}  // namespace dist::cli
