// Goodput: the share of time that is useful training, of a job whose ranks fail. Two ways to go on are played through:
//
//     restart      All ranks stop, start anew for restart_s, and train on from the last checkpoint. After each interval of
//                  training one is written, for checkpoint_s, and training stands still. A failure may come while it is
//                  written, which then counts for nothing, or while ranks start, which then begins anew.
//     quorum_step  A replica is a group of ranks that together hold the whole model. A failure voids the step under way, of
//                  step_s, and takes its replica away, until a replacement is there after restart_s; meanwhile it may fail
//                  anew. It joins with the next step. The others go on: k of n replicas do k/n of a step's work. Half of
//                  them is no quorum, and does none.
//
// The job has the same chance to fail at any moment, and each replica the same chance to be struck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist::cli {

struct FailingJob {
    int ranks = 2;
    int replicas = 2;      // 0: there are not two of them, and no quorum_step
    double mtbf_s = 3600;  // mean time between two failures of the job
    double checkpoint_s = 60;
    double restart_s = 300;
    double step_s = 5;
};

struct RankFailure {
    double after_s = 0;  // since the failure before, or since the start
    int replica = 0;     // which it strikes
};

/// Failures with exponential times between them.
///
/// seed  The same seed gives the same failures, stretched to the mean time of the job.
std::vector<RankFailure> draw_failures(
    const FailingJob& job, std::size_t count, std::uint64_t seed
);

/// Goodput of a run that starts as after a failure, up to its last failure.
///
/// failures  at least one.
double restart_goodput(
    const FailingJob& job, double interval_s, const std::vector<RankFailure>& failures
);

/// Goodput of a run that starts with all replicas, up to the step of its last failure.
///
/// failures  at least one.
double quorum_goodput(const FailingJob& job, const std::vector<RankFailure>& failures);

/// sqrt(2 C M)
///
/// Source  Young (1974), "A first order approximation to the optimum checkpoint interval".
double young_interval_s(const FailingJob& job);

/// sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C, and M from C = 2M on.
///
/// Source  Daly (2006), "A higher order estimate of the optimum checkpoint interval for restart dumps", equation 37.
double daly_interval_s(const FailingJob& job);

/// 1 - C/T - T/2M - R/M, or 0 where that is less.
double young_goodput(const FailingJob& job, double interval_s);

/// T over M e^(R/M) (e^((T+C)/M) - 1), the time that Daly expects an interval T to take: what restart_goodput comes to.
double daly_goodput(const FailingJob& job, double interval_s);

/// What quorum_goodput comes to. No failure strikes a step with chance e^(-S/M); a replica takes part in it if none has
/// struck that replica for restart_s: e^(-R/nM).
double quorum_formula(const FailingJob& job);

}  // namespace dist::cli
