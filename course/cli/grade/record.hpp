// What is known of one submission's answer to one exercise: the native document (course/cli/result), with
// who handed it in and what it is worth. All other formats are made from it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/cli/result/result.hpp"

namespace dist::cli {

using Record = nlohmann::json;

/// The words of a record that formats ask for.
State state_in(const Record& record);
std::string submission_of(const Record& record);
std::string exercise_of(const Record& record);
/// The name of the first test that was not passed, and what was said of it; empty on a pass.
struct FirstFailed {
    std::string test;
    std::string message;
    std::string where;
};
FirstFailed first_failed(const Record& record);
/// Whether it counts: what was skipped, or failed through no fault of the answer, does not.
bool counts(const Record& record);
double score_of(const Record& record);
double max_score_of(const Record& record);
std::vector<std::string> flags_of(const Record& record);

}  // namespace dist::cli
