// What reports look like: gnuplot's script.
#pragma once

#include <string>
#include <vector>

#include "course/lab/measured.hpp"

namespace dist::lab {

/// Two panels: the time, with the lower bounds dashed, and how many times as fast as naive, or else as MPI's own, each one is
/// (left out where neither was measured). On one number of ranks: over the size. On several, each of another number of ranks: over
/// these, at the largest size. Where the ring passes naive is shaded as far as that is unsure.
///
/// An algorithm has the same colour and mark in every picture; no two share either, so that neither colours nor marks
/// alone have to be told apart.
std::string gnuplot_script(const std::vector<Measured>& measurements);

}  // namespace dist::lab
