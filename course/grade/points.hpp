// What each exercise is worth.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "course/grade/record.hpp"
#include "course/manifest/manifest.hpp"

namespace dist::cli {

/// A file of points:
///
///     partial = true         # a part of an exercise's points for a part of its tests; else all or none
///     [points]
///     ring_all_reduce = 10   # what is not named is worth 1
struct Points {
    bool partial = false;
    std::map<std::string, double> of;

    [[nodiscard]] double worth(const std::string& exercise) const;
};

/// Errors  UsageError that names file, line and what is wrong: a name that no exercise has, no number
Points read_points(const std::filesystem::path& file, const Manifest& manifest);

/// Writes "score" and "max_score"; null for what was skipped, or is no fault of the answer.
void give_points(Grade& record, const Points& points);

}  // namespace dist::cli
