#include "course/lab/measure.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <sys/resource.h>

#include <mpi.h>

#include "course/algorithms/operations.hpp"
#include "course/lab/other_work.hpp"
#include "course/lab/statistics.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kMinClean = 5;
constexpr std::size_t kBlocks = 20;

long involuntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/// What one round needs to know besides the order of its calls.
struct Round {
    const std::vector<Algorithm>& algorithms;
    std::span<float> data;
    SharedBuffer* shared;
    const Workspace& workspace;
    Run chosen;
    const Communicator& comm;
    bool keep_disturbed;
};

/// This rank's calls of a round, and what all ranks' calls come to.
class Timings {
  public:
    explicit Timings(std::size_t n) : n_(n), most_(3 * n + 1), sum_(n) {}

    void add(std::size_t algorithm, const Sample& sample) {
        most_[algorithm] = sample.seconds;
        most_[n_ + algorithm] = -sample.seconds;
        most_[2 * n_ + algorithm] = sample.disturbed ? 1.0 : 0.0;
        sum_[algorithm] = sample.seconds;
    }

    /// Of all ranks, the same on each. `elapsed_s` becomes the largest of theirs.
    std::vector<Timing> over_ranks(double& elapsed_s, const Communicator& comm) {
        most_.back() = elapsed_s;
        const auto count = [](const std::vector<double>& values) {
            return static_cast<int>(values.size());
        };
        MPI_CHECK(MPI_Allreduce(
            MPI_IN_PLACE, most_.data(), count(most_), MPI_DOUBLE, MPI_MAX, comm.handle()
        ));
        MPI_CHECK(MPI_Allreduce(
            MPI_IN_PLACE, sum_.data(), count(sum_), MPI_DOUBLE, MPI_SUM, comm.handle()
        ));
        elapsed_s = most_.back();
        std::vector<Timing> all;
        for (std::size_t a = 0; a < n_; ++a) {
            all.push_back(
                {-most_[n_ + a], sum_[a] / comm.size(), most_[a], most_[2 * n_ + a] != 0.0}
            );
        }
        return all;
    }

  private:
    std::size_t n_;
    std::vector<double>
        most_;  // slowest, fastest (negative), disturbed, each by algorithm; elapsed
    std::vector<double> sum_;
};

/// Calls every algorithm once, in the order given. Adds to `wrong` the elements that are, on this rank.
Timings play_round(
    const Round& round, const std::vector<std::size_t>& order, std::vector<long>& wrong
) {
    Timings timings(order.size());
    for (const std::size_t a : order) {
        const Algorithm& algorithm = round.algorithms[a];
        Call call{round.data,           round.workspace.input(round.data.size()),
                  round.workspace.op(), 0,
                  round.comm,           nullptr,
                  round.chosen,         round.workspace.nodes()};
        if (algorithm.means == Means::shared_memory) {
            call.data = round.shared->of(round.comm.rank());
            call.shared = round.shared;
        }
        round.workspace.rewrite(call.data);
        Sample sample = time_call(round.comm, [&] { algorithm.run(call); });
        sample.disturbed = sample.disturbed && !round.keep_disturbed;
        timings.add(a, sample);
        wrong[a] += round.workspace.wrong(call.data);
    }
    return timings;
}

/// How far a measurement is: it is over at 1.
class Extent {
  public:
    Extent(const Effort& effort, std::size_t algorithms)
        : effort_(effort),
          budget_s_(effort.budget_s * static_cast<double>(algorithms)),
          limit_s_(std::max(effort.limit_s, effort.budget_s) * static_cast<double>(algorithms)) {}

    [[nodiscard]] bool block_is_over(const Block& block, int rounds, double elapsed_s) const {
        if (effort_.iterations > 0) {
            const bool is_long =
                block.rounds.size() * kBlocks >= static_cast<std::size_t>(effort_.iterations);
            return is_long || rounds == effort_.iterations;
        }
        return elapsed_s * kBlocks >= budget_s_;
    }

    [[nodiscard]] double done(int rounds, double elapsed_s, const std::vector<Block>& blocks)
        const {
        if (effort_.iterations > 0) {
            return static_cast<double>(rounds) / effort_.iterations;
        }
        if (elapsed_s < budget_s_) {
            return elapsed_s / limit_s_;
        }
        return all_settled(blocks) ? 1.0 : elapsed_s / limit_s_;
    }

  private:
    Effort effort_;
    double budget_s_;
    double limit_s_;
};

/// The clean calls of one algorithm, and all.
struct Calls {
    std::vector<Timing> clean;
    std::vector<Timing> all;
};

Calls calls_of(const std::vector<Block>& blocks, std::size_t algorithm) {
    Calls calls;
    for (const Block& block : blocks) {
        for (const std::vector<Timing>& round : block.rounds) {
            calls.all.push_back(round[algorithm]);
            if (block.quiet() && !round[algorithm].disturbed) {
                calls.clean.push_back(round[algorithm]);
            }
        }
    }
    return calls;
}

}  // namespace

Workspace::Workspace(
    const Collective& collective,
    std::size_t n,
    const Communicator& comm,
    std::uint64_t seed,
    ReduceOp op
)
    : collective_(collective),
      p_(comm.size()),
      rank_(comm.rank()),
      seed_(seed),
      op_(op),
      data_(n),
      input_(n),
      expected_(n) {
    const std::vector<float> input = contribution(n, rank_, seed_, op_);
    std::copy(input.begin(), input.end(), input_.data());
}

void Workspace::deal_out(int per_node, const Communicator& comm) {
    nodes_.emplace(make_nodes(per_node, comm));
}

void Workspace::expect(std::size_t n) {
    std::ranges::copy(expected_with(collective_, n, p_, rank_, seed_, op_), expected_.data());
}

void Workspace::rewrite(std::span<float> data) const {
    std::copy_n(input_.data(), data.size(), data.begin());
}

long Workspace::wrong(std::span<const float> data) const {
    return count_wrong(data, expected_.span().first(data.size()), op_);
}

Sample time_call(const Communicator& comm, const std::function<void()>& call) {
    // the second barrier begins when all ranks have left the first, and so ends nearly everywhere
    // at once
    MPI_CHECK(MPI_Barrier(comm.handle()));
    MPI_CHECK(MPI_Barrier(comm.handle()));
    const long switches = involuntary_switches();
    const double start_s = now_s();
    call();
    const double end_s = now_s();
    return {end_s - start_s, involuntary_switches() != switches};
}

double slowest(double seconds, const Communicator& comm) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm.handle()));
    return seconds;
}

Measurements measure_size(
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes,
    const Effort& effort,
    Workspace& workspace,
    Run chosen,
    const Communicator& comm,
    const std::function<void(double)>& progress
) {
    const std::span<float> data = workspace.data(size_bytes / sizeof(float));
    workspace.expect(data.size());
    std::optional<SharedBuffer> window;
    if (std::ranges::find(algorithms, Means::shared_memory, &Algorithm::means) !=
        algorithms.end()) {
        window.emplace(data.size(), comm);
    }
    const Round round{algorithms, data, window ? &*window : nullptr, workspace,
                      chosen,     comm, effort.keep_disturbed};
    // Drawn anew for each round, alike on every rank: what an algorithm finds in the caches is what the
    // one before it left there.
    std::vector<std::size_t> order(algorithms.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 shuffling;
    Measurements measured{.blocks = {}, .wrong = std::vector<long>(algorithms.size())};
    for (int i = 0; i < effort.warm_ups; ++i) {
        play_round(round, order, measured.wrong);
    }
    const Extent extent(effort, algorithms.size());
    OtherWork others(comm);
    int rounds = 0;
    const Stopwatch watch;
    // everything that decides is the same on every rank, so all leave the loop together
    for (double done = 0.0, elapsed_s = 0.0; done < 1.0;) {
        const double begin_s = elapsed_s;
        effort.before_block();
        Block block;
        do {
            std::ranges::shuffle(order, shuffling);
            Timings timings = play_round(round, order, measured.wrong);
            elapsed_s = watch.elapsed_s();
            block.rounds.push_back(timings.over_ranks(elapsed_s, comm));
            ++rounds;
        } while (!extent.block_is_over(block, rounds, elapsed_s - begin_s));
        block.others = others.share();
        measured.blocks.push_back(std::move(block));
        done = extent.done(rounds, elapsed_s, measured.blocks);
        progress(std::min(done, 1.0));
    }
    MPI_CHECK(MPI_Allreduce(
        MPI_IN_PLACE, measured.wrong.data(), static_cast<int>(measured.wrong.size()), MPI_LONG,
        MPI_SUM, comm.handle()
    ));
    return measured;
}

std::vector<Point> points_of(
    const Measurements& measurements,
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes
) {
    std::vector<Calls> calls;
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
        calls.push_back(calls_of(measurements.blocks, a));
    }
    const bool only_clean =
        std::ranges::all_of(calls, [](const Calls& one) { return one.clean.size() >= kMinClean; });
    const auto ratio_to = [&](std::string_view name, std::size_t a) -> std::optional<Interval> {
        const auto found = std::ranges::find(algorithms, name, &Algorithm::name);
        const auto other = static_cast<std::size_t>(found - algorithms.begin());
        return found == algorithms.end() ? std::nullopt
                                         : std::optional(ratio_of(measurements.blocks, other, a));
    };
    const auto naive = std::ranges::find(algorithms, "naive", &Algorithm::name);
    const auto rounds_vs_naive = [&](std::size_t a) -> std::optional<Interval> {
        const auto other = static_cast<std::size_t>(naive - algorithms.begin());
        return naive == algorithms.end()
                   ? std::nullopt
                   : std::optional(half_of_rounds(measurements.blocks, other, a));
    };
    std::vector<Point> points;
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
        const std::vector<Timing>& counted = only_clean ? calls[a].clean : calls[a].all;
        const auto all = [&](double Timing::*seconds) {
            std::vector<double> values(counted.size());
            std::ranges::transform(counted, values.begin(), seconds);
            return values;
        };
        const std::vector<double> times = all(&Timing::max_s);
        points.push_back(
            {.algorithm = std::string(algorithms[a].name),
             .chose = {},
             .size_bytes = size_bytes,
             .between = false,
             .min_s = quantile(times, 0.0),
             .median_s = median(times),
             .p95_s = quantile(times, 0.95),
             .fastest_rank_s = median(all(&Timing::min_s)),
             .mean_over_ranks_s = median(all(&Timing::mean_s)),
             .clean = static_cast<long>(calls[a].clean.size()),
             .run = static_cast<long>(calls[a].all.size()),
             .wrong = measurements.wrong[a],
             .unsettled = why_unsettled(measurements.blocks, a),
             .vs_naive = ratio_to("naive", a),
             .vs_mpi = ratio_to("mpi", a),
             .rounds_vs_naive = rounds_vs_naive(a),
             .others = others_took(measurements.blocks)}
        );
    }
    return points;
}

}  // namespace dist::lab
