// Goodput of a job at many intervals between checkpoints, and on many numbers of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "course/simulate/goodput.hpp"

namespace dist::cli {

struct GoodputWanted {
    FailingJob job;
    std::vector<double> restarts_s;   // each takes the place of the job's
    std::vector<double> intervals_s;  // empty: round ones around the best
    std::size_t failures = 10000;
    std::uint64_t seed = 1;
};

/// A job at one interval, simulated and by formula.
struct GoodputPoint {
    FailingJob job;
    double interval_s = 0;
    double restart = 0;
    double daly = 0;
    double young = 0;
    double quorum = 0;  // where the job has replicas; so is the next one
    double quorum_formula = 0;
};

struct GoodputSurvey {
    std::vector<GoodputPoint> intervals;  // for each restart time
    std::vector<GoodputPoint> curve;      // finely, as all that follows with the first restart time
    std::vector<GoodputPoint>
        over_ranks;     // each rank fails as often as in the job; at Daly's interval
    double best_s = 0;  // of the curve, as simulated
};

GoodputSurvey survey_goodput(const GoodputWanted& wanted);

}  // namespace dist::cli
