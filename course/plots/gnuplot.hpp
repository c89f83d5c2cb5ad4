// Pictures by gnuplot: what its scripts are made of, and how one becomes a file.
#pragma once

#include <array>
#include <filesystem>
#include <string>

namespace dist::plots {

/// How a line is drawn.
struct Style {
    const char* colour;
    int mark;  // gnuplot's number
};

/// Okabe and Ito's colours, and five of Tol's, which people who are colour-blind can tell apart. No
/// two share a colour or a mark, so that neither alone has to be told apart.
inline constexpr std::array kStyles = {
    Style{"#000000", 7},   // full circle
    Style{"#0072B2", 5},   // full square
    Style{"#D55E00", 9},   // full triangle
    Style{"#E69F00", 11},  // full triangle, upside down
    Style{"#009E73", 13},  // full diamond
    Style{"#CC79A7", 6},   // circle
    Style{"#56B4E9", 4},   // square
    Style{"#882255", 2},   // cross
    Style{"#999933", 3},   // star
    Style{"#332288", 12},  // diamond
    Style{"#117733", 8},   // triangle
    Style{"#AA4499", 10},  // triangle, upside down
};

/// A gnuplot string. Of a strange file name, what no SVG may hold becomes '?'.
std::string quoted(const std::string& text);

/// What to do where gnuplot is not there; empty where it is.
std::string missing_gnuplot();

/// Draws a script that sets an SVG terminal and no output: the file is there as a whole or not at all.
///
/// Errors  std::system_error if the file cannot be written; std::runtime_error if gnuplot fails.
void draw(const std::filesystem::path& svg, const std::string& script);

}  // namespace dist::plots
