// What is known of one submission's answer to one exercise: the native document (course/result), with
// who handed it in and what it is worth. All other formats are made from it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/result/result.hpp"

namespace dist::cli {

using Grade = nlohmann::json;

/// The words of a record that formats ask for.
State state_in(const Grade& record);
std::string submission_of(const Grade& record);
std::string exercise_of(const Grade& record);
/// The name of the first test that was not passed, and what was said of it; empty on a pass.
struct FirstFailed {
    std::string test;
    std::string message;
    std::string where;
};
FirstFailed first_failed(const Grade& record);
/// Whether it counts: what was skipped, or failed through no fault of the answer, does not.
bool counts(const Grade& record);
/// Its points, without regard to when it came; and what counts of them.
double score_of(const Grade& record);
double counted_of(const Grade& record);
/// "2 days late"; empty in time.
std::string late_by(int days);
double max_score_of(const Grade& record);
std::vector<std::string> flags_of(const Grade& record);

}  // namespace dist::cli
