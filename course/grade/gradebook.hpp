// The folder that grades are written to. Every file in it is complete or absent, and is there as soon as it can be.
//
//     grading.json              the seeds, drawn when grading began
//     native/NAME/EXERCISE.json what all others are made from
//     results.csv, canvas.csv, junit.xml, report.html
//     similar/EXERCISE/NAME.cpp, info.csv; similar/stubs/EXERCISE.cpp
//     gradescope/NAME.json      exercism/NAME/EXERCISE.json
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "course/grade/record.hpp"

namespace dist::cli {

class Gradebook {
  public:
    /// Makes the folder when it is not there.
    explicit Gradebook(std::filesystem::path folder);

    /// Whether an earlier grading has left something.
    [[nodiscard]] bool has_grades() const;
    [[nodiscard]] std::vector<std::uint64_t> seeds() const;
    void write_seeds(const std::vector<std::uint64_t>& seeds);

    /// A record of an earlier grading; none when it is not there, or was cut off.
    [[nodiscard]] std::optional<Grade> read(
        const std::string& submission, const std::string& exercise
    ) const;
    /// Any thread may call it.
    void write(const Grade& record);

    /// Everything that is made of records.
    void write_all(const std::vector<Grade>& records, const std::vector<std::string>& notes);

    /// An exercise's answers, by submission, without comments and layout, for tools that look for copies.
    void write_similar(
        const std::string& exercise,
        const std::string& stub,
        const std::map<std::string, std::string>& answers
    );

  private:
    [[nodiscard]] std::filesystem::path native(
        const std::string& submission, const std::string& exercise
    ) const;
    void put(const std::filesystem::path& file, const std::string& text);

    std::filesystem::path folder_;
    std::mutex one_at_a_time_;
};

}  // namespace dist::cli
