#include "course/simulate/training_step.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "course/nn/bucket_limits.hpp"

namespace dist::cli {
namespace {

using trainer::Parallel;

/// A rank, and its communication thread. All ranks do the same at the same time.
class SimulatedRank {
  public:
    explicit SimulatedRank(const ExchangeTime& time) : time_(time) {}

    void compute(double seconds) {
        now_s_ += seconds;
        computed_s_ += seconds;
    }

    /// Hands a collective to the thread, which does what it was given before first. Returns when it will be through.
    double start(const char* collective, std::size_t floats) {
        const double seconds = time_(collective, floats);
        communication_s_ += seconds;
        thread_s_ = std::max(thread_s_, now_s_) + seconds;
        return thread_s_;
    }

    void wait(double until_s) { now_s_ = std::max(now_s_, until_s); }

    void exchange(const char* collective, std::size_t floats) { wait(start(collective, floats)); }

    [[nodiscard]] StepTime time() const {
        return {
            .step_s = now_s_,
            .communication_s = communication_s_,
            .exposed_s = std::max(0.0, now_s_ - computed_s_)};
    }

  private:
    const ExchangeTime& time_;
    double now_s_ = 0;
    double thread_s_ = 0;  // when the thread has nothing left to do
    double computed_s_ = 0;
    double communication_s_ = 0;
};

/// The length of a row that is cut into p equal shards.
std::size_t padded(std::size_t floats, int p) {
    const auto parts = static_cast<std::size_t>(p);
    return (floats + parts - 1) / parts * parts;
}

/// Equal replicas: all gradients in one row, after backward.
void average(SimulatedRank& rank, const Training& training, int /*p*/) {
    const Work& work = training.work;
    rank.compute(work.data_s + work.forward_s + work.backward_s);
    rank.exchange("all_reduce", training.model.floats());
    rank.compute(work.optimizer_s);
}

/// Backward, with `full` called for each bucket as soon as it has all its gradients, and those before it have theirs.
template <class Full>
void backward_by_buckets(
    SimulatedRank& rank,
    const Training& training,
    const std::vector<TrainedParameter>& order,
    const Full& full
) {
    const auto buckets = plan_buckets(order, nn::bucket_limits(training.bucket_cap_mb));
    std::vector<std::size_t> bucket_of(order.size());  // of each parameter, by its number
    std::vector<std::size_t> missing;
    std::vector<std::size_t> floats;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        missing.push_back(buckets[b].size());
        floats.push_back(0);
        for (const std::size_t i : buckets[b]) {
            bucket_of.at(order[i].number) = b;
            floats[b] += order[i].floats;
        }
    }
    std::size_t next = 0;
    for (const TrainedParameter& made : training.model.parameters) {
        rank.compute(training.work.backward_s * training.model.share(made.multiply_adds));
        --missing[bucket_of[made.number]];
        while (next < buckets.size() && missing[next] == 0) {
            full(floats[next]);
            ++next;
        }
    }
}

/// Buckets travel beside backward; the plan is in the order in which gradients come, as after the first step.
void ddp(SimulatedRank& rank, const Training& training, int /*p*/) {
    rank.compute(training.work.data_s + training.work.forward_s);
    double last_s = 0;
    backward_by_buckets(rank, training, training.model.parameters, [&](std::size_t floats) {
        last_s = rank.start("all_reduce", floats);
    });
    rank.wait(last_s);
    rank.compute(training.work.optimizer_s);
}

/// After backward: sums to their shards, the shard's step, and the others' shards back.
void zero1(SimulatedRank& rank, const Training& training, int p) {
    const Work& work = training.work;
    const std::size_t row = padded(training.model.floats(), p);
    rank.compute(work.data_s + work.forward_s + work.backward_s);
    rank.exchange("reduce_scatter", row);
    rank.compute(work.optimizer_s / p);
    rank.exchange("all_gather", row);
}

/// Each bucket meets in backward, which waits for it: exercise zero2 has no thread.
void zero2(SimulatedRank& rank, const Training& training, int p) {
    rank.compute(training.work.data_s + training.work.forward_s);
    std::vector<std::size_t> rows;
    backward_by_buckets(rank, training, training.model.backwards(), [&](std::size_t floats) {
        rows.push_back(padded(floats, p));
        rank.exchange("reduce_scatter", rows.back());
    });
    rank.compute(training.work.optimizer_s / p);
    for (const std::size_t row : rows) {
        rank.exchange("all_gather", row);
    }
}

/// What zero3 gathers as one.
struct SimulatedUnit {
    std::size_t floats = 0;  // a row, cut into shards
    double share = 0;        // of forward and of backward
    bool gathering = false;  // or gathered
    double there_s = 0;      // when the weights are there
};

std::vector<SimulatedUnit> units_of(const TrainedModel& model, int p) {
    std::vector<SimulatedUnit> units(model.parts());
    for (const TrainedParameter& parameter : model.parameters) {
        units[parameter.part].floats += parameter.floats;
        units[parameter.part].share += model.share(parameter.multiply_adds);
    }
    for (SimulatedUnit& unit : units) {
        unit.floats = padded(unit.floats, p);
    }
    return units;
}

/// Each unit's weights come before it computes, the next one's meanwhile; they go, and come again in backward, which waits
/// until the unit's gradients have met. All messages go through the thread, one after the other.
void zero3(SimulatedRank& rank, const Training& training, int p) {
    const Work& work = training.work;
    std::vector<SimulatedUnit> units = units_of(training.model, p);
    const auto gather = [&](SimulatedUnit& unit) {
        if (!unit.gathering) {
            unit.there_s = rank.start("all_gather", unit.floats);
            unit.gathering = true;
        }
    };
    const auto release = [](SimulatedUnit& unit) { unit.gathering = false; };
    rank.compute(work.data_s);
    for (std::size_t u = 0; u < units.size(); ++u) {
        gather(units[u]);
        rank.wait(units[u].there_s);
        if (u + 1 < units.size()) {
            gather(units[u + 1]);
        }
        rank.compute(work.forward_s * units[u].share);
        release(units[u]);
    }
    for (std::size_t u = units.size(); u-- > 0;) {
        gather(units[u]);
        rank.wait(units[u].there_s);
        if (u > 0) {
            gather(units[u - 1]);
        }
        rank.compute(work.backward_s * units[u].share);
        release(units[u]);
        rank.exchange("reduce_scatter", units[u].floats);
    }
    rank.compute(work.optimizer_s / p);
}

/// Gradients go to the servers, which hold a shard each and step it, and weights come back. All that goes through a server's
/// card goes one after the other, but the servers' cards work at the same time. Where weights may be older, this happens
/// beside the work on the next gradients.
void ps(SimulatedRank& rank, const Training& training, int /*p*/) {
    const Work& work = training.work;
    const std::size_t shard = padded(training.model.floats(), training.servers) /
                              static_cast<std::size_t>(training.servers);
    const double gradients_s = work.data_s + work.forward_s + work.backward_s;
    const double server_s = work.optimizer_s / training.servers;
    if (training.staleness == 0) {
        rank.compute(gradients_s);
        rank.exchange("push", shard);
        rank.compute(server_s);
        rank.exchange("pull", shard);
        return;
    }
    rank.start("push", shard);
    const double weights_s = rank.start("pull", shard) + server_s;
    rank.compute(gradients_s);
    rank.wait(weights_s);
}

}  // namespace

int workers_of(Parallel way, const Training& training, int p) {
    return way == Parallel::ps ? p - training.servers : p;
}

StepTime step_on(Parallel way, const Training& training, int p, const ExchangeTime& time) {
    SimulatedRank rank(time);
    switch (way) {
        case Parallel::average:
            average(rank, training, p);
            break;
        case Parallel::ddp:
            ddp(rank, training, p);
            break;
        case Parallel::zero1:
            zero1(rank, training, p);
            break;
        case Parallel::zero2:
            zero2(rank, training, p);
            break;
        case Parallel::zero3:
            zero3(rank, training, p);
            break;
        case Parallel::ps:
            ps(rank, training, p);
            break;
        case Parallel::three_d:
            throw std::invalid_argument("step_on: a mesh is no way of sharing equal replicas");
        case Parallel::dp:
        case Parallel::none:
            throw std::invalid_argument("step_on: a way of one process has no messages");
    }
    const double weights_s = rank.time().communication_s;
    constexpr std::size_t kLossAndAccuracy = 2;  // the trainer averages them after each step
    rank.exchange("all_reduce", kLossAndAccuracy);
    StepTime whole = rank.time();
    whole.weights_s = weights_s;
    return whole;
}

}  // namespace dist::cli
