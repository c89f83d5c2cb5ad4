// What a training log holds (JSON lines, by train --log FILE), as far as a picture needs it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dist::plots {

/// A log that cannot be drawn; the text is one line that begins with "FILE:LINE: " or "FILE: ".
class LogError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A step over all ranks. What is no number in the log (NaN and infinity are null in JSON) is NaN.
struct Step {
    std::size_t step = 0;  // from 1
    double seen = 0;       // images or tokens so far, of all ranks
    double loss = 0;
    double accuracy = 0;  // 0 to 1
    double seen_per_s = 0;
};

/// A test after an epoch, or after the last steps.
struct Test {
    double seen = 0;      // in training so far
    double accuracy = 0;  // 0 to 1
};

/// Rank 0's seconds.
struct Times {
    double data_s = 0;
    double forward_s = 0;
    double backward_s = 0;
    double communication_s = 0;
    double optimizer_s = 0;
    double total_s = 0;  // the parts above, tests, checkpoints, and what is in none

    /// Without the rest; 0 if the log has none of them.
    [[nodiscard]] double parts_s() const {
        return data_s + forward_s + backward_s + communication_s + optimizer_s;
    }
};

struct TrainingLog {
    std::string name;      // in the picture
    bool of_text = false;  // what was seen are tokens
    std::vector<Step> steps;
    std::vector<Test> tests;
    std::optional<bool> synthetic;  // known after a test
    Times times;
    std::size_t cut_line = 0;  // the last one's number, if it is cut off and so was left out
};

/// Reads a log.
///
/// name    that errors begin with.
///
/// Errors  LogError: no JSON, JSON of something else, steps that go back, no step at all.
TrainingLog read_log(std::istream& in, const std::string& name);

/// Reads a log from a file.
///
/// Errors  as above, and LogError for a folder or a file that cannot be read.
TrainingLog read_log(const std::filesystem::path& path);

/// What a run has seen: "tokens" of a text, else "pictures".
std::string seen_by(const TrainingLog& log);

/// Names for a picture: the files', with as many of the folders above as it takes to tell them apart.
///
/// paths   of different files.
std::vector<std::string> short_names(const std::vector<std::filesystem::path>& paths);

}  // namespace dist::plots
