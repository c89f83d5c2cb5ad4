// What a list of measured times says.
#pragma once

#include <optional>
#include <span>
#include <vector>

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

/// A straight line through time against size: t(S) = alpha + S / beta.
struct AlphaBeta {
    double alpha_s = 0.0;           // what a call costs before its first byte
    double beta_bytes_per_s = 0.0;  // what each further byte costs, as a rate
    double r2 = 0.0;                // 1: the line explains everything, 0: nothing
};

/// The line of least relative squares: one percent weighs the same at 4 KiB and at 85 MB.
/// Empty if there are less than two sizes, if time does not grow with size, or if it grows faster: a
/// call that costs less than nothing before its first byte explains no times.
///
/// sizes_bytes, times_s  of equal length; times are positive.
///
/// Source  Hockney (1994), "The communication challenge for MPP: Intel Paragon and Meiko CS-2".
std::optional<AlphaBeta> fit_alpha_beta(
    std::span<const double> sizes_bytes, std::span<const double> times_s
);

}  // namespace dist::lab
