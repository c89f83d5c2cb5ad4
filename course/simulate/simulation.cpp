#include "course/simulate/simulation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unistd.h>

#include "course/algorithms/units.hpp"
#include "course/launch/run_folder.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/counted.hpp"
#include "course/runtime/simulated_time.hpp"
#include "course/simulate/held_ranks.hpp"
#include "course/simulate/replayed.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using simulation::Order;
using simulation::Timed;

constexpr std::size_t kSmall = std::size_t{1} << 30U;  // over all ranks: peers run with such data

constexpr std::array kSelectors = {"ompi", "mpich", "mvapich2", "impi"};

/// The setting by which SMPI takes this peer for the collective.
std::string setting_of(const std::string& peer, const std::string& collective) {
    static const std::map<std::string, std::string> settings = {
        {"all_reduce", "allreduce"},
        {"broadcast", "bcast"},
        {"all_gather", "allgather"},
        {"reduce_scatter", "reduce-scatter"},
        {"all_to_all", "alltoall"}};
    if (std::ranges::find(kSelectors, peer) != kSelectors.end()) {
        return "smpi/coll-selector:" + peer;
    }
    const auto name = settings.find(collective);
    return fmt::format("smpi/{}:{}", name == settings.end() ? collective : name->second, peer);
}

std::vector<Timed> lines_of(const std::string& output) {
    std::vector<Timed> times;
    const std::string mark = simulation::kTimedMark;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(mark)) {
            const auto in = nlohmann::json::parse(line.substr(mark.size()), nullptr, false);
            if (in.is_object()) {
                times.push_back(in.get<Timed>());
            }
        }
    }
    return times;
}

std::size_t memory_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Pages that all ranks share are as many as the longest data: one mapping for each, since Linux allows 65530. SMPI wants a
/// power of two.
std::string shared_pages(const std::vector<std::size_t>& sizes_bytes) {
    constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
    const std::size_t longest = std::ranges::max(sizes_bytes);
    return fmt::format("smpi/shared-malloc-blocksize:{}", std::bit_ceil(longest + kMebibyte));
}

Held held_with_code(const Context& context, std::size_t bytes, int ranks) {
    return held_ranks(supply_here(), demand_with_code(references_of(context), bytes, ranks));
}

/// That of what ran on so many ranks: it is the same for whatever does the same. 0: nothing did.
double bus_factor_on(int ranks, const std::vector<Timed>& times) {
    const auto found = std::ranges::find(times, ranks, &Timed::ranks);
    return found == times.end() ? 0 : found->bus_factor;
}

class Runs {
  public:
    Runs(Context& context, const Simulation& wanted)
        : context_(context), wanted_(wanted), folder_(context, false) {}

    Simulated all() {
        Simulated result;
        result.collective = wanted_.collective;
        result.peers = {wanted_.peers.begin(), wanted_.peers.end()};
        result.by_formula = wanted_.by_formula;
        if (wanted_.by_formula) {
            const int fewest = std::max(2, wanted_.cluster.per_node);  // a whole node
            Order formulas = order(wanted_.collective, wanted_.algorithms, "", wanted_.sizes_bytes);
            formulas.formula_ranks = wanted_.ranks;
            run(result, wanted_.references, formulas, fewest, "", "");
            return result;
        }
        if (wanted_.cluster.add_s_per_byte > 0 && !wanted_.peers.empty()) {
            result.notes.emplace_back(
                "additions take time in the course's algorithms, and none in the peers"
            );
        }
        for (const int ranks : wanted_.ranks) {
            if (!wanted_.mine_module.empty()) {  // first: it is what was asked for
                run_mine(result, ranks);
            }
            if (result.collective.empty()) {
                continue;  // mine's, which was too large
            }
            if (wanted_.ours) {
                run(result, wanted_.references,
                    order(result.collective, wanted_.algorithms, "", wanted_.sizes_bytes), ranks,
                    "", "");
            }
            for (const std::string& peer : wanted_.peers) {
                run_peer(result, ranks, peer);
            }
        }
        return result;
    }

  private:
    Order order(
        const std::string& collective,
        const std::vector<std::string>& algorithms,
        const std::string& mine,
        const std::vector<std::size_t>& sizes
    ) const {
        Order order;
        order.collective = collective;
        order.algorithms = algorithms;
        order.mine = mine;
        order.sizes_bytes = sizes;
        if (wanted_.cluster.platform.empty()) {
            order.alpha_s = wanted_.cluster.latency_s;
            order.beta_s_per_byte = 1 / wanted_.cluster.bytes_per_s;
            order.gamma_s_per_byte = wanted_.cluster.add_s_per_byte;
            if (wanted_.cluster.per_node > 0) {
                order.inside_alpha_s = wanted_.cluster.inside_latency_s;
                order.inside_beta_s_per_byte = 1 / wanted_.cluster.inside_bytes_per_s;
            }
        }
        order.per_node = wanted_.cluster.per_node;
        return order;
    }

    /// What an answer allocates for itself is each rank's own: at the most as much as its data.
    void run_mine(Simulated& result, int ranks) {
        std::vector<std::size_t> fit = wanted_.sizes_bytes;
        const auto left_out = std::erase_if(fit, [&](std::size_t bytes) {
            return bytes > memory_bytes() / 2 / static_cast<std::size_t>(ranks);
        });
        if (left_out > 0) {
            result.notes.push_back(fmt::format(
                "mine on {} ranks: {} left out, which might not fit into this machine's memory",
                ranks, harness::counted(left_out, "size")
            ));
        }
        if (!fit.empty()) {
            run(result, wanted_.mine_module, order("", {}, wanted_.mine, fit), ranks, "", "mine");
        }
    }

    /// Peers allocate what they like, as much as the data and more; replayed, they allocate nothing.
    void run_peer(Simulated& result, int ranks, const std::string& peer) {
        const std::string setting = setting_of(peer, result.collective);
        std::vector<std::size_t> with_data;
        for (const std::size_t bytes : wanted_.sizes_bytes) {
            const std::size_t all_bytes = bytes * static_cast<std::size_t>(ranks);
            const bool fits = ranks <= held_with_code(context_, bytes, ranks).ranks;
            const auto seconds = all_bytes <= kSmall && fits ? std::nullopt
                                                             : replayed_s(
                                                                   context_, wanted_.cluster, ranks,
                                                                   result.collective, bytes, setting
                                                               );
            if (seconds) {
                const double bus_factor = bus_factor_on(ranks, result.times);
                Timed& time = result.times.emplace_back();
                time.bus_factor = bus_factor;
                time.collective = result.collective;
                time.algorithm = peer;
                time.ranks = ranks;
                time.size_bytes = bytes;
                time.seconds = *seconds;
            } else if (fits && all_bytes <= std::max(kSmall, memory_bytes() / 4)) {
                with_data.push_back(bytes);
            } else {
                result.notes.push_back(fmt::format(
                    "{} on {} ranks: {} left out, which SMPI cannot replay without data, and which "
                    "might not fit into this machine's memory",
                    peer, ranks, lab::in_words(bytes)
                ));
            }
        }
        if (!with_data.empty()) {
            run(result, wanted_.references, order(result.collective, {"mpi"}, "", with_data), ranks,
                setting, peer);
        }
    }

    void run(
        Simulated& result,
        const fs::path& module,
        const Order& order,
        int ranks,
        const std::string& setting,
        const std::string& name
    ) {
        std::vector<std::string> settings = {shared_pages(order.sizes_bytes)};
        if (!setting.empty()) {
            settings.push_back(setting);
        }
        std::vector<std::string> line =
            on_cluster(wanted_.cluster, ranks, folder_.path(), settings);
        line.insert(line.end(), {module.string(), nlohmann::json(order).dump()});
        RunOptions options;
        options.environment = {
            {"LC_ALL", "C"},
            {kEnvSimulatedGamma, fmt::format("{:.17g}", wanted_.cluster.add_s_per_byte)}};
        ProgressLine progress;
        options.watch = [&](const std::string& output, double seconds) {
            const std::vector<Timed> so_far = lines_of(output);
            progress.show(fmt::format(
                "simulating {} ranks{}: {} times so far{}, {:.0f} s", ranks,
                name.empty() ? "" : " of " + name, result.times.size() + so_far.size(),
                so_far.empty() ? "" : ", the last of " + so_far.back().algorithm, seconds
            ));
        };
        const Ended ended = cli::run(context_, line, options);
        progress.clear();
        std::vector<Timed> times = lines_of(ended.output);
        if (ended.output.find("Deadlock") != std::string::npos) {  // the exit status is 0 then
            throw CommandError(
                exit_status::kHang, fmt::format(
                                        "on {} simulated ranks {} deadlocks: every rank waits "
                                        "for another. ./shardlings run "
                                        "shows who waits for whom",
                                        ranks, name.empty() ? "an algorithm" : name
                                    )
            );
        }
        if (!ended.ok() || times.empty()) {
            refuse(ended, ranks, name);
        }
        for (Timed& time : times) {
            time.algorithm = name.empty() ? time.algorithm : name;
            result.collective = time.collective;
            result.times.push_back(time);
        }
    }

    [[noreturn]] void refuse(const Ended& ended, int ranks, const std::string& name) const {
        if (const std::string names = rest_of_line(simulation::kRefusedMark, ended.output);
            !names.empty()) {
            throw UsageError(names);
        }
        if (const std::string peers = rest_of_line("[root/CRITICAL] ", ended.output);
            peers.find("has no algorithm") != std::string::npos) {
            throw UsageError("--peers: " + peers);
        }
        if (const std::string platform = rest_of_line("Parse error at ", ended.output);
            !platform.empty()) {
            throw UsageError("--platform: " + platform);
        }
        const std::string thrown = rest_of_line(simulation::kThrownMark, ended.output);
        const EarlyEnd end = thrown.empty() ? early_end(ended)
                                            : EarlyEnd{exit_status::kFailed, "threw on " + thrown};
        throw CommandError(
            end.exit_status, fmt::format(
                                 "on {} simulated ranks {} {}", ranks,
                                 name.empty() ? "an algorithm" : name, end.words
                             )
        );
    }

    Context& context_;
    const Simulation& wanted_;
    RunFolder folder_;
};

}  // namespace

bool may_win(const Simulated& simulated, const Timed& time) {
    return time.wrong <= 0 && (simulated.refused.empty() || time.algorithm != "mine");
}

fs::path references_of(const Context& context) {
    return context.build_folder() / "simulated" / "simulated.so";
}

void expect_held(const Context& context, const Simulation& wanted) {
    if (wanted.by_formula) {
        return;
    }
    const int ranks = wanted.ranks.back();
    const std::size_t bytes = wanted.sizes_bytes.back();
    const bool runs_code = wanted.ours || !wanted.mine.empty();
    const Held replayed = held_ranks(supply_here(), demand_replayed());
    const Held held = runs_code ? held_with_code(context, bytes, ranks) : replayed;
    if (ranks <= held.ranks) {
        return;
    }
    std::string instead = "Take fewer --ranks";
    if (wanted.mine.empty()) {
        instead += "; or add --formula, which only calculates what the formulas give";
        if (runs_code && ranks <= replayed.ranks) {
            instead +=
                "; or --algorithms mpi, which replays an MPI library's messages without data";
        }
    }
    throw UsageError(fmt::format(
        "--ranks {}: this machine holds {} simulated ranks with data of {}: {}. {}", ranks,
        held.ranks, lab::in_words(bytes), held.limit, instead
    ));
}

Simulated simulate(Context& context, const Simulation& wanted) {
    return Runs(context, wanted).all();
}

}  // namespace dist::cli
