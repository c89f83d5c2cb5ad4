#include "course/cli/simulate/simulation.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

#include "course/cli/launch/run_folder.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/progress_line.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/runtime/simulated_time.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using simulation::Order;
using simulation::Timed;

constexpr std::array kSelectors = {"ompi", "mpich", "mvapich2", "impi"};

/// The setting by which SMPI takes this peer for the collective.
std::string setting_of(const std::string& peer, const std::string& collective) {
    static const std::map<std::string, std::string> kSettings = {
        {"all_reduce", "allreduce"},
        {"broadcast", "bcast"},
        {"all_gather", "allgather"},
        {"reduce_scatter", "reduce-scatter"},
        {"all_to_all", "alltoall"}};
    if (std::ranges::find(kSelectors, peer) != kSelectors.end()) {
        return "smpi/coll-selector:" + peer;
    }
    const auto name = kSettings.find(collective);
    return fmt::format("smpi/{}:{}", name == kSettings.end() ? collective : name->second, peer);
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

/// The rest of the line that holds this; empty if there is none.
std::string after(const std::string& mark, const std::string& output) {
    const std::size_t at = output.find(mark);
    const std::size_t begin = at + mark.size();
    return at == std::string::npos ? "" : output.substr(begin, output.find('\n', begin) - begin);
}

class Runs {
  public:
    Runs(Context& context, const Simulation& wanted)
        : context_(context), wanted_(wanted), folder_(context, false) {}

    Simulated all() {
        Simulated result;
        result.collective = wanted_.collective;
        result.peers = {wanted_.peers.begin(), wanted_.peers.end()};
        if (wanted_.cluster.add_s_per_byte > 0 && !wanted_.peers.empty()) {
            result.notes.emplace_back(
                "additions take time in the course's algorithms, in the peers none"
            );
        }
        for (const int ranks : wanted_.ranks) {
            const std::vector<std::size_t> sizes = sizes_that_fit(ranks, result.notes);
            if (sizes.empty()) {
                continue;
            }
            if (!wanted_.mine_module.empty()) {  // first: it is what was asked for
                run(result, wanted_.mine_module, order("", {}, wanted_.mine, sizes), ranks, "",
                    "mine");
            }
            if (wanted_.ours) {
                run(result, wanted_.references,
                    order(result.collective, wanted_.algorithms, "", sizes), ranks, "", "");
            }
            for (const std::string& peer : wanted_.peers) {
                run(result, wanted_.references, order(result.collective, {"mpi"}, "", sizes), ranks,
                    setting_of(peer, result.collective), peer);
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
        }
        return order;
    }

    /// Each rank holds what it receives, at the most as much as its data; those of all ranks share memory when they are large.
    std::vector<std::size_t> sizes_that_fit(int ranks, std::vector<std::string>& notes) const {
        const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        std::vector<std::size_t> fit = wanted_.sizes_bytes;
        const auto left_out = std::erase_if(fit, [&](std::size_t bytes) {
            return bytes > memory / 2 / static_cast<std::size_t>(ranks);
        });
        if (left_out > 0) {
            notes.push_back(fmt::format(
                "left out on {} ranks: {} of the sizes, which would not fit into this machine's "
                "memory",
                ranks, left_out
            ));
        }
        return fit;
    }

    void run(
        Simulated& result,
        const fs::path& module,
        const Order& order,
        int ranks,
        const std::string& setting,
        const std::string& name
    ) {
        const std::vector<std::string> settings =
            setting.empty() ? std::vector<std::string>() : std::vector<std::string>{setting};
        const std::vector<std::string> line = on_cluster(
            wanted_.cluster, ranks, folder_.path(), settings, module, nlohmann::json(order).dump()
        );
        RunOptions options;
        options.environment = {
            {"LC_ALL", "C"},
            {kEnvSimulatedGamma, fmt::format("{:.17g}", wanted_.cluster.add_s_per_byte)}};
        ProgressLine progress;
        options.watch = [&](const std::string& output, double seconds) {
            const std::vector<Timed> so_far = lines_of(output);
            progress.show(fmt::format(
                "simulating {} ranks{}: {} times known{}, {:.0f} s", ranks,
                name.empty() ? "" : " of " + name, result.times.size() + so_far.size(),
                so_far.empty() ? "" : ", last of " + so_far.back().algorithm, seconds
            ));
        };
        const Ended ended = cli::run(context_, line, options);
        progress.clear();
        std::vector<Timed> times = lines_of(ended.output);
        if (ended.output.find("Deadlock") != std::string::npos) {  // the exit status is 0 then
            throw CommandError(
                exit_status::kFailed, fmt::format(
                                          "on {} simulated ranks {} stands still: every rank waits "
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
        if (const std::string names = after(simulation::kRefusedMark, ended.output);
            !names.empty()) {
            throw UsageError(names);
        }
        if (const std::string peers = after("[root/CRITICAL] ", ended.output);
            peers.find("has no algorithm") != std::string::npos) {
            throw UsageError("--peers: " + peers);
        }
        if (ended.ok()) {
            throw UsageError(fmt::format(
                "{} passes no messages, so there is nothing to simulate",
                name == "mine" ? wanted_.mine : wanted_.collective
            ));
        }
        const std::string thrown = after(simulation::kThrownMark, ended.output);
        throw CommandError(
            exit_status::kFailed,
            fmt::format(
                "on {} simulated ranks {} {}", ranks, name.empty() ? "an algorithm" : name,
                thrown.empty() ? fmt::format("ended with exit status {}", ended.status)
                               : "threw on " + thrown
            )
        );
    }

    Context& context_;
    const Simulation& wanted_;
    RunFolder folder_;
};

}  // namespace

Simulated simulate(Context& context, const Simulation& wanted) {
    return Runs(context, wanted).all();
}

}  // namespace dist::cli
