// Records in the formats that others read. Each takes what is there and gives the text of a file.
#pragma once

#include <string>
#include <vector>

#include "course/grade/record.hpp"

namespace dist::cli {

/// A row for each record: submission, exercise, status, score, max, first_failed, detail, seeds, flags. A spreadsheet takes no
/// cell of it for a formula.
std::string as_csv(const std::vector<Grade>& records);

/// A <testsuite> for each record (Jenkins' junit-4.xsd): wrong answers and forbidden calls are failures, all
/// other ends are errors, and what was skipped is skipped.
std::string as_junit(const std::vector<Grade>& records);

/// results.json of Gradescope's autograders, for one submission's records.
std::string as_gradescope(const std::vector<Grade>& records);

/// results.json, version 3, of Exercism's test runners, for one record.
std::string as_exercism(const Grade& record);

/// A page that needs nothing else: a table of submissions by exercises, what fails most, what to look at, and
/// for each cell what failed first.
std::string as_html(const std::vector<Grade>& records, const std::vector<std::string>& notes);

}  // namespace dist::cli
