// What failures cost: for people a table and a picture, for programs JSON and CSV.
#pragma once

#include <string>

#include "course/simulate/goodput_survey.hpp"

namespace dist::cli {

/// "90s", "18.9m", "3.1h", "54d"
std::string duration_in_words(double seconds);

/// Of several restart times a table of intervals by restart times; of one also formulas and numbers of ranks.
std::string table_of(const GoodputSurvey& survey, const GoodputWanted& wanted);
std::string csv_of(const GoodputSurvey& survey);
std::string json_of(const GoodputSurvey& survey, const GoodputWanted& wanted);

/// gnuplot's script: goodput over the interval, and over the number of ranks.
std::string picture_of(const GoodputSurvey& survey, const GoodputWanted& wanted);

}  // namespace dist::cli
