// Figures that others have published, beside what this course's formulas say of the same machines.
#pragma once

#include <string>
#include <vector>

namespace dist::cli {

/// A figure of theirs, and ours.
struct PaperRow {
    std::string what;  // "16 nodes"
    double theirs = 0;
    double ours = 0;

    [[nodiscard]] double ratio() const { return ours / theirs; }
};

struct Paper {
    std::string name;    // what --paper takes
    std::string title;   // what was measured
    std::string source;  // where the figures stand
    std::string ours;    // the formula, and the constants that it takes
    std::string unit;
    std::vector<PaperRow> rows;
    std::string why;  // the two agree, or do not
};

/// All that --paper knows. Calculated: nothing is built or run.
std::vector<Paper> papers();

/// Errors  UsageError, which names all, for an unknown one
Paper find_paper(const std::string& name);

std::string table_of(const Paper& paper);
std::string csv_of(const Paper& paper);
std::string json_of(const Paper& paper);

/// A line each: name and title.
std::string list_of(const std::vector<Paper>& papers);
std::string json_of(const std::vector<Paper>& papers);

}  // namespace dist::cli
