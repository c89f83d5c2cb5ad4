#include "course/report/fit.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <vector>

#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kBegin = 2;  // what fails, and why
constexpr std::size_t kEnd = 5;    // the counts, and what to type next

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// What a line takes when it is folded; one that cannot be is broken by the terminal.
std::size_t rows_of(const std::string& line, std::size_t columns) {
    std::size_t rows = 0;
    for (const std::string& part : lines_of(folded(line + "\n", columns))) {
        rows += std::max<std::size_t>((width_of(part) + columns - 1) / columns, 1);
    }
    return rows;
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
    while (too_long && rows + 1 > screen.rows && lines.size() > kBegin + kEnd) {  // 1: says so
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
    return folded(text, screen.columns);
}

}  // namespace dist::cli
