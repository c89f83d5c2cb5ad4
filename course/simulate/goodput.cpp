#include "course/simulate/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "course/runtime/seeded.hpp"

namespace dist::cli {
namespace {

constexpr double kHere = -1;  // of a replica that is not away

/// The replicas that are away.
class AwayReplicas {
  public:
    explicit AwayReplicas(int replicas) : back_s_(static_cast<std::size_t>(replicas), kHere) {}

    /// back_s  of no replica that was struck before is later.
    void strike(int replica, double back_s) {
        double& back = back_s_[static_cast<std::size_t>(replica)];
        count_ += back == kHere ? 1 : 0;
        back = back_s;
        coming_.emplace(back_s, replica);
    }

    void come_back(double now_s) {
        for (; next_s() <= now_s; coming_.pop()) {
            const auto [back_s, replica] = coming_.front();
            double& back = back_s_[static_cast<std::size_t>(replica)];
            if (back == back_s) {  // it has not been struck once more
                back = kHere;
                --count_;
            }
        }
    }

    /// When somebody may come back.
    [[nodiscard]] double next_s() const {
        return coming_.empty() ? std::numeric_limits<double>::infinity() : coming_.front().first;
    }

    [[nodiscard]] int count() const { return count_; }

  private:
    std::vector<double> back_s_;
    std::queue<std::pair<double, int>> coming_;
    int count_ = 0;
};

bool is_quorum(int away, int replicas) {
    return 2 * away < replicas;
}

/// 0 and more, below 1.
double uniform(std::uint64_t bits) {
    constexpr double kStep = 0x1p-53;
    return static_cast<double>(bits >> 11U) * kStep;
}

}  // namespace

std::vector<RankFailure> draw_failures(
    const FailingJob& job, std::size_t count, std::uint64_t seed
) {
    std::vector<RankFailure> failures(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double chance = uniform(seeded_bits(seed, 2 * i));
        failures[i].after_s = -job.mtbf_s * std::log1p(-chance);
        failures[i].replica =
            static_cast<int>(uniform(seeded_bits(seed, 2 * i + 1)) * job.replicas);
    }
    return failures;
}

double restart_goodput(
    const FailingJob& job, double interval_s, const std::vector<RankFailure>& failures
) {
    double useful_s = 0;
    double all_s = 0;
    for (const RankFailure& failure : failures) {
        const double run_s = std::max(0.0, failure.after_s - job.restart_s);
        useful_s += std::floor(run_s / (interval_s + job.checkpoint_s)) * interval_s;
        all_s += failure.after_s;
    }
    return useful_s / all_s;
}

double quorum_goodput(const FailingJob& job, const std::vector<RankFailure>& failures) {
    AwayReplicas away(job.replicas);
    double replica_steps = 0;
    double step = 0;  // before it all steps are counted
    double now_s = 0;
    for (const RankFailure& failure : failures) {
        now_s += failure.after_s;
        const double struck = std::floor(now_s / job.step_s);
        while (step < struck) {
            away.come_back(step * job.step_s);
            // until somebody comes back one step is like the other
            const double next = std::clamp(std::ceil(away.next_s() / job.step_s), step + 1, struck);
            if (is_quorum(away.count(), job.replicas)) {
                replica_steps += (next - step) * (job.replicas - away.count());
            }
            step = next;
        }
        step = struck + 1;
        away.strike(failure.replica, now_s + job.restart_s);
    }
    return replica_steps / step / job.replicas;
}

double young_interval_s(const FailingJob& job) {
    return std::sqrt(2 * job.checkpoint_s * job.mtbf_s);
}

double daly_interval_s(const FailingJob& job) {
    const double ratio = job.checkpoint_s / (2 * job.mtbf_s);
    return ratio < 1
               ? young_interval_s(job) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - job.checkpoint_s
               : job.mtbf_s;
}

double young_goodput(const FailingJob& job, double interval_s) {
    const double lost =
        job.checkpoint_s / interval_s + interval_s / (2 * job.mtbf_s) + job.restart_s / job.mtbf_s;
    return std::max(0.0, 1 - lost);
}

double daly_goodput(const FailingJob& job, double interval_s) {
    const double mtbf_s = job.mtbf_s;
    return interval_s / (mtbf_s * std::exp(job.restart_s / mtbf_s) *
                         std::expm1((interval_s + job.checkpoint_s) / mtbf_s));
}

double quorum_formula(const FailingJob& job) {
    const int n = job.replicas;
    const double rate = job.restart_s / (n * job.mtbf_s);  // failures of a replica in restart_s
    // one that takes part counts where it has a quorum with the others, of whom a binomial number is away
    const double log_odds = rate + std::log1p(-std::exp(-rate));  // of being away
    double log_term = -(n - 1) * rate;
    double quorum = 0;
    for (int away = 0; is_quorum(away, n); ++away) {
        quorum += std::exp(log_term);
        log_term += log_odds + std::log((n - 1.0 - away) / (away + 1));
    }
    return std::exp(-job.step_s / job.mtbf_s) * std::exp(-rate) * quorum;
}

}  // namespace dist::cli
