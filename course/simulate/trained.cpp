#include "course/simulate/trained.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "course/process/error.hpp"
#include "course/simulate/simulation.hpp"

namespace dist::cli {
namespace {

using Lengths = std::map<std::string, std::set<std::size_t>>;  // of each collective
using Times = std::vector<std::pair<std::size_t, double>>;     // of each length
using Ways = std::vector<trainer::Parallel>;

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
        Training training = wanted_.training;
        for (const int p : wanted_.ranks) {
            const ExchangeTime rings = times_on(p, rings_of(wanted_.ways), training, trained.notes);
            for (const auto& [way, servers] : lines_of(wanted_)) {
                const bool ps = way == trainer::Parallel::ps;
                training.servers = servers;
                const int workers = workers_of(way, training, p);
                if (ps && workers < servers) {
                    continue;  // each server's card is to be what counts, and not the workers'
                }
                TrainedStep& step = trained.steps.emplace_back();
                step.way = way;
                step.servers = servers;
                step.ranks = p;
                step.time = step_on(
                    way, training, p, ps ? times_on(p, {way}, training, trained.notes) : rings
                );
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
    static Ways rings_of(Ways ways) {
        std::erase(ways, trainer::Parallel::ps);
        return ways;
    }

    static Lengths lengths_on(int p, const Ways& ways, const Training& training) {
        Lengths lengths;
        const ExchangeTime note = [&](const std::string& collective, std::size_t floats) {
            lengths[collective].insert(floats);
            return 0.0;
        };
        for (const trainer::Parallel way : ways) {
            step_on(way, training, p, note);
        }
        return lengths;
    }

    ExchangeTime times_on(
        int p, const Ways& ways, const Training& training, std::vector<std::string>& notes
    ) {
        std::map<std::string, Times> known;
        bool some = false;
        for (const auto& [collective, lengths] : lengths_on(p, ways, training)) {
            const std::vector<std::size_t> all(lengths.begin(), lengths.end());
            const std::size_t most =
                p > kEveryLengthUpTo ? kMostLengths : std::numeric_limits<std::size_t>::max();
            const std::vector<std::size_t> simulated = lengths_to_simulate(all, most);
            some = some || simulated.size() < all.size();
            const bool to_server = collective == "push" || collective == "pull";
            const int ranks =  // of which one is a server
                to_server ? workers_of(trainer::Parallel::ps, training, p) + 1 : p;
            known[collective] = run(collective, ranks, simulated);
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

    Times run(const std::string& collective, int p, const std::vector<std::size_t>& lengths) {
        Times& known = known_[{collective, p, lengths}];
        if (!known.empty()) {
            return known;
        }
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
            wanted.algorithms = {to_server ? "naive" : "ring"};  // the root is the server
        }
        mine_counts_ = mine_counts_ || collective == mine_;
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
    std::map<std::tuple<std::string, int, std::vector<std::size_t>>, Times> known_;
    std::string mine_;  // the collective that the exercise's answer does
    bool mine_counts_ = false;
};

}  // namespace

std::vector<TrainedWay> lines_of(const TrainingSimulation& wanted) {
    std::vector<TrainedWay> lines;
    for (const trainer::Parallel way : wanted.ways) {
        const bool ps = way == trainer::Parallel::ps;
        for (const int servers : ps ? wanted.servers : std::vector{1}) {
            lines.push_back({way, servers});
        }
    }
    return lines;
}

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
