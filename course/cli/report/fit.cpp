#include "course/cli/report/fit.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <vector>

namespace dist::cli {
namespace {

constexpr std::size_t kEnd = 5;  // the counts, and what to type next

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// What a line takes; colours are a little less than it seems.
std::size_t rows_of(const std::string& line, std::size_t columns) {
    return columns == 0 || line.empty() ? 1 : (line.size() + columns - 1) / columns;
}

std::size_t rows_of(const Lines& lines, std::size_t columns) {
    std::size_t rows = 0;
    for (const std::string& line : lines) {
        rows += rows_of(line, columns);
    }
    return rows;
}

bool tells_a_pass(const std::string& line) {
    constexpr std::size_t kWordAndColour = 12;
    return line.starts_with("  ") && line.substr(0, kWordAndColour).find("pass ") != line.npos;
}

}  // namespace

std::string fitted(const std::string& report, const Screen& screen, const std::string& name) {
    Lines lines = lines_of(report);
    if (rows_of(lines, screen.columns) > screen.rows) {
        std::erase_if(lines, tells_a_pass);
    }
    std::size_t rows = rows_of(lines, screen.columns);
    std::size_t left_out = 0;
    const bool too_long = rows > screen.rows;
    while (too_long && rows + 1 > screen.rows && lines.size() > 2 * kEnd) {  // 1: says so
        const auto last = lines.end() - kEnd - 1;  // the end of the middle
        rows -= rows_of(*last, screen.columns);
        lines.erase(last);
        ++left_out;
    }
    if (left_out > 0) {
        lines.insert(
            lines.end() - kEnd, fmt::format(
                                    "        ... {} more line{}: ./shardlings run {}", left_out,
                                    left_out == 1 ? "" : "s", name
                                )
        );
    }
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

}  // namespace dist::cli
