// What a list of measured times says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist::lab {

/// The value below which the fraction `q` of `values` lies, between two of them linearly.
///
/// values  not empty, in any order.
/// q       0 for the smallest, 0.5 for the median, 1 for the largest.
///
/// Errors  std::invalid_argument if values is empty or q is outside [0, 1].
double quantile(std::vector<double> values, double q);

/// The middle one of `values`; of two middle ones their mean.
double median(const std::vector<double>& values);

/// A straight line through time against size: t(S) = alpha + beta * S. As everywhere in this course but
/// in ping_pong's header, beta is seconds a byte (LinkCost); tables show its reciprocal beside it.
struct Line {
    LinkCost cost;    // gamma is 0: no such line tells it
    double r2 = 0.0;  // 1: the line explains everything, 0: nothing
};

/// A line, or why there is none.
struct Fit {
    std::optional<Line> line;
    std::string why_none;
};

/// The line of least relative squares, by cost_model's `fit`: one percent weighs the same at 4 KiB
/// and at 85 MB. None if there are less than two sizes, if time does not grow with size, or if it grows
/// faster: a call that costs less than nothing before its first byte explains no times.
Fit fit_line(const std::vector<Measurement>& points);

}  // namespace dist::lab
