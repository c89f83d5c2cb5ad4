// When submissions were due, and what those count that came later.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "course/grade/record.hpp"

namespace dist::cli {

using Moment = std::chrono::sys_seconds;
using Dates = std::map<std::string, Moment>;  // by the submission's name

/// "2026-12-03T07:00:00Z".
std::string text_of(Moment moment);

/// A file of dates:
///
///     due = 2026-12-01T23:59:00+01:00
///     lost_per_day = 20    # percent of the points, for each day that has begun; left out: all of them
///     [exceptions]         # other dates, by the submission's name
///     ada = 2026-12-08T23:59:00+01:00
///     [handed_in]          # when it came, where the times of its files do not say
///     bob = 2026-12-03T08:00:00+01:00
struct Due {
    Moment date;
    std::chrono::minutes zone;  // of `date`, ahead of UTC
    double lost_per_day = 100;
    Dates exceptions;
    Dates handed_in;

    /// Days that have begun since this submission was due; 0 in time.
    [[nodiscard]] int days_late(const std::string& submission, Moment came) const;

    /// What is wrong with the times of files; empty where nothing is: a day to come, or before the course.
    [[nodiscard]] std::string doubt(const std::string& submission, Moment came) const;

    /// What is left of points after so many days, from 0 to 1.
    [[nodiscard]] double left_after(int days) const;
};

/// Errors  UsageError that names file, line and what is wrong: no date, a date without its zone
Due read_due(const std::filesystem::path& file);

/// Writes "counted", beside "score"; and where something is due, "handed_in" and "days_late".
///
/// came  the time of the newest file; none where nothing was handed in
void give_counted(Grade& record, const std::optional<Due>& due, std::optional<Moment> came);

}  // namespace dist::cli
