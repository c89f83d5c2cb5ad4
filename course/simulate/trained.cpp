#include "course/simulate/trained.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "course/process/error.hpp"
#include "course/simulate/simulation.hpp"

namespace dist::cli {
namespace {

using Lengths = std::map<std::string, std::set<std::size_t>>;  // of each collective

// A ring of p ranks passes p(p-1) messages in a reduce-scatter: on more ranks than these, two lengths have to do.
constexpr int kEveryLengthUpTo = 128;
constexpr std::size_t kMostLengths = 2;

class TrainingRuns {
  public:
    TrainingRuns(Context& context, const TrainingSimulation& wanted)
        : context_(context), wanted_(wanted) {
        if (!wanted_.mine_module.empty()) {
            constexpr int kTwoRanks = 2;
            constexpr std::size_t kTwoFloats = 8;
            mine_ = simulate(context_, mine(kTwoRanks, {kTwoFloats})).collective;
        }
    }

    Trained all() {
        Trained trained;
        const Training& training = wanted_.training;
        for (const int p : wanted_.ranks) {
            const ExchangeTime time = times_on(p, trained.notes);
            for (const trainer::Parallel way : wanted_.ways) {
                TrainedStep& step = trained.steps.emplace_back();
                step.way = way;
                step.ranks = p;
                step.time = step_on(way, training, p, time);
                const int workers = workers_of(way, training, p);
                step.images_per_s =
                    workers * static_cast<double>(training.batch) / step.time.step_s;
                step.efficiency = training.work.step_s() / step.time.step_s * workers / p;
            }
        }
        if (!mine_.empty() && !mine_counts_) {
            trained.notes.push_back(
                fmt::format("{} does {}, which none of these ways calls", wanted_.mine, mine_)
            );
        }
        return trained;
    }

  private:
    [[nodiscard]] Lengths lengths_on(int p) const {
        Lengths lengths;
        const ExchangeTime note = [&](const std::string& collective, std::size_t floats) {
            lengths[collective].insert(floats);
            return 0.0;
        };
        for (const trainer::Parallel way : wanted_.ways) {
            step_on(way, wanted_.training, p, note);
        }
        return lengths;
    }

    ExchangeTime times_on(int p, std::vector<std::string>& notes) {
        std::map<std::string, std::vector<std::pair<std::size_t, double>>> known;
        bool some = false;
        for (const auto& [collective, lengths] : lengths_on(p)) {
            const std::vector<std::size_t> all(lengths.begin(), lengths.end());
            const std::size_t most =
                p > kEveryLengthUpTo ? kMostLengths : std::numeric_limits<std::size_t>::max();
            const std::vector<std::size_t> simulated = lengths_to_simulate(all, most);
            some = some || simulated.size() < all.size();
            known[collective] = run(collective, p, simulated);
        }
        if (some) {
            notes.push_back(fmt::format(
                "{} ranks: of each collective the shortest and the longest were simulated, the "
                "others lie on the line between them",
                p
            ));
        }
        return [known](const std::string& collective, std::size_t floats) {
            return on_the_line(known.at(collective), floats);
        };
    }

    std::vector<std::pair<std::size_t, double>> run(
        const std::string& collective, int p, const std::vector<std::size_t>& lengths
    ) {
        std::vector<std::size_t> sizes_bytes;
        sizes_bytes.reserve(lengths.size());
        for (const std::size_t floats : lengths) {
            sizes_bytes.push_back(floats * sizeof(float));
        }
        Simulation wanted = mine(p, sizes_bytes);
        if (collective != mine_) {
            wanted.mine_module.clear();
            wanted.ours = true;
            const bool push = collective == "push";
            const bool to_server = push || collective == "pull";
            wanted.collective = !to_server ? collective : push ? "reduce" : "broadcast";
            wanted.algorithms = {to_server ? "naive" : "ring"};
            if (to_server) {  // its root is a server
                wanted.ranks = {workers_of(trainer::Parallel::ps, wanted_.training, p) + 1};
            }
        }
        mine_counts_ = mine_counts_ || collective == mine_;
        std::vector<std::pair<std::size_t, double>> known;
        for (const simulation::Timed& time : simulate(context_, wanted).times) {
            if (time.wrong > 0) {
                throw CommandError(
                    exit_status::kFailed,
                    fmt::format(
                        "on {} simulated ranks {} gives {} wrong elements: ./shardlings run {} "
                        "says more",
                        p, wanted_.mine, time.wrong, wanted_.mine
                    )
                );
            }
            known.emplace_back(time.size_bytes / sizeof(float), time.seconds);
        }
        if (known.size() < lengths.size()) {
            throw UsageError(fmt::format(
                "--mine {}: on {} ranks what it allocates might not fit into this machine's "
                "memory; take fewer --ranks",
                wanted_.mine, p
            ));
        }
        return known;
    }

    /// The exercise's answer, alone.
    [[nodiscard]] Simulation mine(int p, const std::vector<std::size_t>& sizes_bytes) const {
        Simulation simulation;
        simulation.ours = false;
        simulation.mine = wanted_.mine;
        simulation.mine_module = wanted_.mine_module;
        simulation.references = wanted_.references;
        simulation.ranks = {p};
        simulation.sizes_bytes = sizes_bytes;
        simulation.cluster = wanted_.cluster;
        return simulation;
    }

    Context& context_;
    const TrainingSimulation& wanted_;
    std::string mine_;  // the collective that the exercise's answer does
    bool mine_counts_ = false;
};

}  // namespace

std::vector<std::size_t> lengths_to_simulate(
    const std::vector<std::size_t>& lengths, std::size_t most
) {
    if (lengths.size() <= most) {
        return lengths;
    }
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < most; ++i) {
        some.push_back(lengths[i * (lengths.size() - 1) / (most - 1)]);
    }
    return some;
}

double on_the_line(const std::vector<std::pair<std::size_t, double>>& known, std::size_t length) {
    const auto above =
        std::ranges::lower_bound(known, length, {}, [](const auto& at) { return at.first; });
    if (above == known.end()) {
        return known.back().second;
    }
    if (above == known.begin() || above->first == length) {
        return above->second;
    }
    const auto [low, low_s] = *std::prev(above);
    const auto [high, high_s] = *above;
    const double share = static_cast<double>(length - low) / static_cast<double>(high - low);
    return low_s + share * (high_s - low_s);
}

void expect_held(const Context& context, const TrainingSimulation& wanted) {
    Simulation longest;
    longest.mine = "train";  // no formula takes its place
    longest.ranks = wanted.ranks;
    constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
    const std::size_t bytes = wanted.training.model.floats() * sizeof(float);
    longest.sizes_bytes = {(bytes / kMebibyte + 1) * kMebibyte};
    expect_held(context, longest);
}

Trained simulate_training(Context& context, const TrainingSimulation& wanted) {
    return TrainingRuns(context, wanted).all();
}

}  // namespace dist::cli
