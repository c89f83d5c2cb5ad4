#include "course/lab/measure.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <sys/resource.h>

#include <mpi.h>

#include "course/algorithms/expected.hpp"
#include "course/lab/statistics.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::lab {
namespace {

constexpr int kWarmUps = 2;
constexpr std::size_t kMinClean = 5;  // worth some overtime
constexpr double kMaxOvertime = 3.0;  // of the budget

long involuntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/// The times of one algorithm at one size: the same on every rank.
struct Series {
    Algorithm algorithm;
    std::vector<double> clean_s;
    std::vector<double> all_s;
    long wrong = 0;  // on this rank

    void add(const Sample& sample, bool keep_disturbed) {
        all_s.push_back(sample.seconds);
        if (keep_disturbed || !sample.disturbed) {
            clean_s.push_back(sample.seconds);
        }
    }

    [[nodiscard]] Point summary(std::size_t size_bytes, bool only_clean) const {
        const std::vector<double>& times = only_clean ? clean_s : all_s;
        return {
            .algorithm = std::string(algorithm.name),
            .chose = {},
            .size_bytes = size_bytes,
            .min_s = quantile(times, 0.0),
            .median_s = median(times),
            .p95_s = quantile(times, 0.95),
            .clean = static_cast<long>(clean_s.size()),
            .run = static_cast<long>(all_s.size()),
            .wrong = wrong};
    }
};

/// Calls every algorithm once, in the order given. Seconds of the slowest rank; disturbed if any rank
/// was.
std::vector<Sample> play_round(
    std::vector<Series>& series,
    const std::vector<std::size_t>& order,
    std::span<float> data,
    SharedBuffer* shared,
    const Workspace& workspace,
    Run chosen,
    const Communicator& comm
) {
    std::vector<double> seconds(series.size());
    std::vector<int> disturbed(series.size());
    for (const std::size_t a : order) {
        Series& one = series[a];
        Call call{data, workspace.input(data.size()), ReduceOp::sum, 0, comm, nullptr, chosen};
        if (one.algorithm.means == Means::shared_memory) {
            call.data = shared->of(comm.rank());
            call.shared = shared;
        }
        workspace.rewrite(call.data);
        const Sample sample = time_call(comm, [&] { one.algorithm.run(call); });
        one.wrong += workspace.wrong(call.data);
        seconds[a] = sample.seconds;
        disturbed[a] = sample.disturbed ? 1 : 0;
    }
    const int count = static_cast<int>(series.size());
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), count, MPI_DOUBLE, MPI_MAX, comm.handle())
    );
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, disturbed.data(), count, MPI_INT, MPI_MAX, comm.handle())
    );
    std::vector<Sample> round;
    for (std::size_t a = 0; a < series.size(); ++a) {
        round.push_back({seconds[a], disturbed[a] != 0});
    }
    return round;
}

/// Whether every algorithm has some clean iterations. All are judged alike: by these, or by all.
bool enough_clean(const std::vector<Series>& series) {
    return std::all_of(series.begin(), series.end(), [](const Series& one) {
        return one.clean_s.size() >= kMinClean;
    });
}

/// Done when the budget is spent; later when an algorithm has too few clean iterations by then.
double fraction_done(const std::vector<Series>& series, double spent) {
    return enough_clean(series) ? spent : spent / kMaxOvertime;
}

}  // namespace

Workspace::Workspace(
    const Collective& collective, std::size_t n, const Communicator& comm, std::uint64_t seed
)
    : collective_(collective),
      p_(comm.size()),
      rank_(comm.rank()),
      seed_(seed),
      data_(n),
      input_(n),
      expected_(n) {
    const std::vector<float> input = seeded_data(n, rank_, seed_);
    std::copy(input.begin(), input.end(), input_.data());
}

void Workspace::expect(std::size_t n) {
    collective_.expect(expected_.span().first(n), p_, rank_, seed_);
}

void Workspace::rewrite(std::span<float> data) const {
    std::copy_n(input_.data(), data.size(), data.begin());
}

long Workspace::wrong(std::span<const float> data) const {
    return count_wrong(data, expected_.span().first(data.size()));
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

std::vector<Point> measure_size(
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes,
    const Effort& effort,
    Workspace& workspace,
    Run chosen,
    const Communicator& comm,
    const std::function<void(double)>& progress
) {
    std::vector<Series> series;
    series.reserve(algorithms.size());
    for (const Algorithm& algorithm : algorithms) {
        series.push_back({.algorithm = algorithm, .clean_s = {}, .all_s = {}});
    }
    const std::span<float> data = workspace.data(size_bytes / sizeof(float));
    workspace.expect(data.size());
    std::optional<SharedBuffer> window;
    if (std::ranges::find(algorithms, Means::shared_memory, &Algorithm::means) !=
        algorithms.end()) {
        window.emplace(data.size(), comm);
    }
    SharedBuffer* const shared = window ? &*window : nullptr;
    // Drawn anew for each round, alike on every rank: what an algorithm finds in the caches is what the
    // one before it left there.
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 shuffling;
    for (int i = 0; i < kWarmUps; ++i) {
        play_round(series, order, data, shared, workspace, chosen, comm);
    }
    const double budget_s = effort.budget_s * static_cast<double>(algorithms.size());
    const Stopwatch watch;
    for (double done = 0.0; done < 1.0;) {
        std::ranges::shuffle(order, shuffling);
        const std::vector<Sample> round =
            play_round(series, order, data, shared, workspace, chosen, comm);
        for (std::size_t a = 0; a < series.size(); ++a) {
            series[a].add(round[a], effort.keep_disturbed);
        }
        // the same on every rank, so all leave the loop together
        done = effort.iterations > 0
                   ? static_cast<double>(series[0].all_s.size()) / effort.iterations
                   : fraction_done(series, slowest(watch.elapsed_s(), comm) / budget_s);
        progress(std::min(done, 1.0));
    }
    const bool only_clean = enough_clean(series);
    std::vector<Point> points;
    for (Series& one : series) {
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &one.wrong, 1, MPI_LONG, MPI_SUM, comm.handle()));
        points.push_back(one.summary(size_bytes, only_clean));
    }
    return points;
}

}  // namespace dist::lab
