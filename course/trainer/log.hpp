// The record of a run: JSON lines, for plots and for comparing runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "course/trainer/task_facts.hpp"

namespace dist::trainer {

/// What is known of one step. Times are rank 0's, in seconds.
struct StepRecord {
    std::size_t step = 0;         ///< from 1
    std::size_t epoch = 0;        ///< from 1
    double loss = 0;              ///< mean over the global batch
    double accuracy = 0;          ///< 0 to 1, of the global batch, before the step
    std::string unit = "images";  ///< or "tokens"
    std::size_t seen =
        0;  ///< of them in training so far, over all ranks: the x-axis that runs share
    double seen_per_s = 0;  ///< this step's, over all ranks
    double rate = 0;
    std::optional<double> grad_norm = {};  ///< before it was clipped
    double data_s = 0;                     ///< as all parts, without the communication in it
    double forward_s = 0;
    double backward_s = 0;
    double communication_s = 0;  ///< in all parts: sending, receiving, and waiting for slower ranks
    double optimizer_s = 0;
    double hidden_s = 0;  ///< messages of another thread, beside what this one did
};

/// What is known of one epoch.
struct EpochRecord {
    std::size_t step = 0;
    std::size_t epoch = 0;  ///< from 1
    std::size_t train_steps =
        0;  ///< this run's in the epoch: over them, and over all ranks, the means of
    double train_loss = 0;
    double train_accuracy = 0;  ///< 0 to 1
    TestResult test;
    std::string unit = "images";
    bool synthetic = false;   ///< not on real pictures
    double evaluation_s = 0;  ///< the test
    double duration_s = 0;    ///< training and test
};

/// Where a run's time went: a rank's seconds.
struct TimeRecord {
    std::size_t step = 0;  ///< the last
    double data_s = 0;
    double forward_s = 0;
    double backward_s = 0;
    double communication_s = 0;
    double optimizer_s = 0;
    double hidden_s = 0;  ///< beside the parts: in none of them
    double evaluation_s = 0;
    double checkpoint_s = 0;
    double total_s = 0;  ///< from the first step on: what is not in a part above is in none

    void add(const StepRecord& record);

    /// What takes the same time on every rank, if all are equally fast.
    [[nodiscard]] double compute_s() const { return data_s + forward_s + backward_s + optimizer_s; }
};

/// A file with one JSON object a line, each on the disk's way as soon as it is written.
class Log {
  public:
    /// No file: records are dropped.
    Log() = default;

    /// keep_steps  0: a new file. Otherwise lines of steps up to this one are kept, and what an
    ///             interrupted run wrote after it is cut off.
    ///
    /// Errors      std::runtime_error if the file cannot be written.
    explicit Log(const std::filesystem::path& path, std::size_t keep_steps = 0);

    /// Errors  std::runtime_error if the line cannot be written.
    void write(const StepRecord& record);
    void write(const EpochRecord& record);
    void write(const TimeRecord& record);

  private:
    void write_line(const std::string& line);

    std::filesystem::path path_;
    std::ofstream out_;
};

}  // namespace dist::trainer
