// Panels one above the other over the same axis, whose lines do not hide each other.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course/plots/gnuplot.hpp"

namespace dist::plots {

/// A point of a line, and what is known of it.
struct Spot {
    double x = 0;
    double y = 0;
    std::optional<std::pair<double, double>> range = {};  // from, to: shaded
    bool grey = false;                                    // its mark is: nothing follows from it
};

/// A line, and how it is drawn.
struct Curve {
    std::string name;
    Style style;
    std::vector<Spot> points;  // ascending; what is not above zero is left out
    bool limit = false;  // dashed and without marks: no measurement; left out where it is far below
};

/// One of the places on the horizontal axis where something was measured.
struct Tick {
    double x = 0;
    std::string text;
};

/// A stretch of the horizontal axis, and what happens there.
struct Band {
    double low = 0;
    double high = 0;
    std::string what;
};

struct Panel {
    std::string title;
    std::string y_format;  // gnuplot's: "%g"
    std::vector<Curve> curves;
    /// Points that are lower than this may lie below the panel, where they would press all others together; the highest one
    /// of each line is in it.
    double cut_below = 0;
    bool ratios = false;  // a line at 1, and ticks near to it
};

struct Page {
    std::string title;
    std::vector<Tick> ticks;  // ascending
    std::vector<Band> bands;
    std::vector<Panel> panels;
};

/// Gnuplot's script of a page, both axes logarithmic. The marks of one tick stand side by side, each line in a lane of its
/// own, so that equal times show all their marks; each line's name and mark stand at its end. At the width of a page the
/// letters are of 8 points.
std::string script_of(const Page& page);

/// Moves places from 0 to 1 apart until none is nearer than `gap` to another: in the same order, by the least squares,
/// and inside of 0 to 1 if there is room for them.
std::vector<double> apart(const std::vector<double>& places, double gap);

}  // namespace dist::plots
