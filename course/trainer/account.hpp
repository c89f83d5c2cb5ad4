// What a run tells: the screen and the log. All of it is rank 0's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "course/runtime/clock.hpp"
#include "course/runtime/communicator.hpp"
#include "course/trainer/log.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/progress.hpp"
#include "course/trainer/steps.hpp"
#include "course/trainer/task_facts.hpp"

namespace dist::trainer {

/// Seconds and share of each part, and of what is in none of them; no line end.
std::string to_table(const TimeRecord& times);

/// Names the rank that computed longest and the one that computed shortest; empty if they are close.
///
/// compute_s  of every rank.
std::string to_straggler(std::span<const double> compute_s);

/// Says so where bfloat16 is the slower one; empty where it is not.
///
/// fp32_s, bf16_s  of one convolution.
std::string to_dtype_note(double fp32_s, double bf16_s);

/// That a run goes on, and whether it was begun for another number of steps; empty if none is done.
///
/// steps  of the whole run, as it is now asked for.
std::string describe_resumption(const Steps& begun, std::size_t steps);

/// Follows a run from its first line to its last; on ranks other than 0 it does nothing.
class Account {
  public:
    /// Prints what is trained on what.
    Account(const Options& options, TaskFacts task, const Communicator& comm);

    /// begun        steps of an earlier run that this one goes on from, or none.
    /// steps        of the whole run, `epoch_steps` of them an epoch.
    ///
    /// Errors       Stop, on every rank, if the log cannot be written.
    void begin_run(const Steps& begun, std::size_t steps, std::size_t epoch_steps);

    void begin_epoch(std::size_t epoch);
    void end_step(const StepRecord& record);
    void end_epoch(EpochRecord record);
    void end_save(double seconds);

    /// A line for the screen; none if it is empty.
    void say(const std::string& line);

    /// Prints and logs where the time went, too; and which rank the others waited for, if one was slow.
    /// Collective.
    ///
    /// step  steps done in all: fewer than the whole run's, if it was to stop early.
    void end_run(std::size_t step);

  private:
    const Options& options_;
    TaskFacts task_;
    const Communicator& comm_;
    Progress progress_;
    Log log_;
    std::size_t steps_ = 0;
    std::size_t epoch_steps_ = 0;
    Status status_;            // of this epoch
    std::size_t counted_ = 0;  // steps in the status's means
    TimeRecord times_;
    Stopwatch epoch_time_;
    Stopwatch run_time_;
    std::optional<EpochRecord> last_;
};

}  // namespace dist::trainer
