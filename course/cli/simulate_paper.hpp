// simulate --paper: figures that others have published, beside this course's formulas.
#pragma once

#include <string>

#include "course/cli/command.hpp"

namespace dist::cli {

/// name  of a paper, or "list".
/// csv   a file for the rows; empty: none.
///
/// Errors  UsageError
void simulate_paper(Context& context, const std::string& name, const std::string& csv);

/// Errors  UsageError for another option or a NAME beside --paper
void expect_paper_alone(const Command& simulate);

}  // namespace dist::cli
