// What a report looks like: gnuplot's script.
#pragma once

#include <string>

#include "course/lab/report.hpp"

namespace dist::lab {

/// Two panels over the size: the time, with the lower bounds dashed, and naive's time over each one's
/// (left out when naive was not measured). An algorithm has the same colour and mark in every picture;
/// no two share either, so that neither colours nor marks alone have to be told apart.
std::string gnuplot_script(const Report& report);

}  // namespace dist::lab
