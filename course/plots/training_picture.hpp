// What training logs look like, side by side: gnuplot's script, and a table.
#pragma once

#include <string>
#include <vector>

#include "course/plots/training_log.hpp"

namespace dist::plots {

/// Three panels over the pictures that all ranks have seen: loss, accuracy in training and in tests,
/// pictures per second. A run has one colour and mark, in the order of kStyles. Where a run has more
/// than 300 steps, each point of training is the mean over as many pictures as a 300th of the longest
/// run has, the same in all runs, and the titles say so.
///
/// logs    1 to kStyles.size().
std::string training_script(const std::vector<TrainingLog>& logs);

/// A line a run with its results, one with where rank 0's time went, and one for each thing that a
/// reader of the picture should know.
std::string training_table(const std::vector<TrainingLog>& logs);

}  // namespace dist::plots
