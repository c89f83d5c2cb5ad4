// Records in the formats that others read. Each takes what is there and gives the text of a file.
#pragma once

#include <string>
#include <vector>

#include "course/grade/record.hpp"

namespace dist::cli {

/// A text as a cell of a CSV table. A spreadsheet takes it for no formula.
std::string csv_cell(std::string text);

/// A row for each record: submission, exercise, status, score, max, first_failed, detail, seeds, flags, counted (what is left of
/// the score of those who were late), days_late. A spreadsheet takes no cell of it for a formula.
std::string as_csv(const std::vector<Grade>& records);

/// The gradebook that Canvas imports: a row for each submission, a column with the points that count for each exercise, above them
/// what each is worth. A student is told by the ID that Canvas puts into the names of what it hands out, or else by the
/// submission's name, as login.
std::string as_canvas(const std::vector<Grade>& records);

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
