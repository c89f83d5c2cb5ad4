#include "course/simulate/goodput_survey.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace dist::cli {
namespace {

constexpr double kAMinute = 60;
constexpr double kAnHour = 3600;
constexpr double kADay = 86400;

/// Intervals that people choose.
constexpr std::array kRoundIntervals = {
    1.0,           2.0,           5.0,           10.0,          15.0,         20.0,
    30.0,          kAMinute,      2 * kAMinute,  3 * kAMinute,  5 * kAMinute, 10 * kAMinute,
    15 * kAMinute, 20 * kAMinute, 30 * kAMinute, 45 * kAMinute, kAnHour,      1.5 * kAnHour,
    2 * kAnHour,   3 * kAnHour,   4 * kAnHour,   6 * kAnHour,   8 * kAnHour,  12 * kAnHour,
    kADay,         2 * kADay,     3 * kADay,     5 * kADay,     7 * kADay,    10 * kADay,
    15 * kADay,    30 * kADay};

std::vector<double> round_intervals_s(double best_s) {
    constexpr double kFactor = 8;
    std::vector<double> some;
    std::ranges::copy_if(kRoundIntervals, std::back_inserter(some), [&](double interval_s) {
        return interval_s > best_s / kFactor && interval_s < best_s * kFactor;
    });
    return some.empty() ? std::vector{best_s} : some;
}

/// Eight for each doubling. They lie where they lie whatever is best, so that the best of them is found, not given.
std::vector<double> fine_intervals_s(double best_s) {
    constexpr int kOfADoubling = 8;
    constexpr int kDoublings = 4;  // on each side
    const int middle = static_cast<int>(std::lround(kOfADoubling * std::log2(best_s)));
    std::vector<double> all;
    for (int i = -kOfADoubling * kDoublings; i <= kOfADoubling * kDoublings; ++i) {
        all.push_back(std::exp2(static_cast<double>(middle + i) / kOfADoubling));
    }
    return all;
}

std::vector<GoodputPoint> points_of(
    const FailingJob& job, const std::vector<double>& intervals_s, const GoodputWanted& wanted
) {
    const std::vector<RankFailure> failures = draw_failures(job, wanted.failures, wanted.seed);
    const double quorum = job.replicas > 0 ? quorum_goodput(job, failures) : 0;
    const double formula = job.replicas > 0 ? quorum_formula(job) : 0;
    std::vector<GoodputPoint> points;
    points.reserve(intervals_s.size());
    for (const double interval_s : intervals_s) {
        points.push_back(
            {job, interval_s, restart_goodput(job, interval_s, failures),
             daly_goodput(job, interval_s), young_goodput(job, interval_s), quorum, formula}
        );
    }
    return points;
}

/// The job on p ranks of the same kind, in replicas of the same size.
FailingJob on_ranks(FailingJob job, int p) {
    const int of_a_replica = job.ranks / job.replicas;
    job.mtbf_s *= static_cast<double>(job.ranks) / p;
    job.ranks = p;
    job.replicas = p % of_a_replica == 0 && p >= 2 * of_a_replica ? p / of_a_replica : 0;
    return job;
}

}  // namespace

GoodputSurvey survey_goodput(const GoodputWanted& wanted) {
    constexpr int kFewestRanks = 16;
    constexpr int kMostRanks = 65536;
    FailingJob job = wanted.job;
    const double daly_s = daly_interval_s(job);
    GoodputSurvey survey;
    for (const double restart_s : wanted.restarts_s) {
        job.restart_s = restart_s;
        const auto points = points_of(
            job, wanted.intervals_s.empty() ? round_intervals_s(daly_s) : wanted.intervals_s, wanted
        );
        survey.intervals.insert(survey.intervals.end(), points.begin(), points.end());
    }
    job.restart_s = wanted.restarts_s.front();
    survey.curve = points_of(job, fine_intervals_s(daly_s), wanted);
    survey.best_s = std::ranges::max_element(survey.curve, {}, &GoodputPoint::restart)->interval_s;
    for (int p = kFewestRanks; p <= kMostRanks; p *= 2) {
        const FailingJob other = on_ranks(job, p);
        survey.over_ranks.push_back(points_of(other, {daly_interval_s(other)}, wanted).front());
    }
    return survey;
}

}  // namespace dist::cli
