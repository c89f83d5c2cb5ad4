// bench ddp: a step of training with each way to make the mean of all gradients, side by side. Run by mpirun
// on many ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>

#include <torch/utils.h>
#include <torch/version.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/ddp/contestant.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/options.hpp"
#include "course/lab/statistics.hpp"
#include "course/nn/bucket_limits.hpp"
#include "course/runtime/environment.hpp"

namespace dist::lab {
namespace {

struct DdpOptions {
    std::string model = "resnet34-imagenet";
    std::int64_t batch = 64;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;
    int rounds = 15;
    std::vector<std::string> ways = contestant_names();
    bool json = false;
    bool progress = false;
    std::string to;
};

/// What was measured of one way.
struct Times {
    std::vector<double> steps_s;  // slowest rank's, of each round
    long differ = 0;              // steps after which a gradient differed from PyTorch's in any bit
};

DdpOptions parse(int argc, char** argv, std::string& help) {
    DdpOptions options;
    CLI::App app{
        "Measures a step of training with each way to average gradients, in one run.", "bench ddp"};
    app.footer(
        "none      no communication: nothing can be faster\n"
        "average   average_gradients after backward, chapter 05\n"
        "ddp       the Reducer of chapter 06, its messages on a thread of their own\n"
        "pytorch   PyTorch's own c10d::Reducer over the course's ring, in the same way\n"
        "gloo      PyTorch's own c10d::Reducer over Gloo (TCP), where libgloo-dev is installed\n"
    );
    app.add_option("--model", options.model, "resnet34, resnet34-imagenet or small")
        ->check(CLI::IsMember({"resnet34", "resnet34-imagenet", "small"}))
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Pictures per rank")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option(
           "--bucket-cap-mb", options.bucket_cap_mb,
           "MiB at which a bucket is full; 0: one a parameter"
    )
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "Timed steps of each way, taken in turn")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--ways", options.ways, "Which, as none,ddp,pytorch")
        ->delimiter(',')
        ->check(CLI::IsMember(contestant_names()))
        ->allow_extra_args(false);
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--to", options.to, "Write here what would go to standard output")->group("");
    app.add_flag("--progress", options.progress, "Show progress on standard error");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        help = app.help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    return options;
}

/// Pictures of noise: what is in them takes no more or less time.
nn::Batch make_batch(std::int64_t size, int rank, int round) {
    torch::manual_seed(static_cast<std::uint64_t>(1000 * round + rank));
    return {at::randn({size, 3, 32, 32}), at::randint(10, {size}, at::kLong)};
}

/// Whether two replicas have the same gradients, bit for bit.
bool same_gradients(const Contestant& one, const Contestant& other) {
    return std::ranges::equal(
        one.parameters(), other.parameters(),
        [](const at::Tensor& a, const at::Tensor& b) { return at::equal(a.grad(), b.grad()); }
    );
}

using Ways = std::vector<std::pair<std::string, std::unique_ptr<Contestant>>>;

/// One step of each way with the same batch, in an order drawn anew.
void measure_round(
    const Ways& ways,
    const nn::Batch& batch,
    int round,
    std::map<std::string, Times>& times,
    const Communicator& comm
) {
    std::vector<std::size_t> order(ways.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(round)));
    for (const std::size_t i : order) {
        const auto& [name, way] = ways[i];
        const Sample sample = time_call(comm, [&, &way = way] { way->step(batch); });
        times[name].steps_s.push_back(slowest(sample.seconds, comm));
    }
    const auto pytorch = std::ranges::find(ways, "pytorch", &Ways::value_type::first);
    if (pytorch != ways.end()) {
        for (const auto& [name, way] : ways) {
            const double differs = same_gradients(*way, *pytorch->second) ? 0 : 1;
            times[name].differ += slowest(differs, comm) > 0 ? 1 : 0;
        }
    }
}

std::string to_text(
    const DdpOptions& options,
    const std::vector<std::string>& names,
    const std::map<std::string, Times>& times,
    const Communicator& comm
) {
    const auto median_of = [&](const std::string& name) -> std::optional<double> {
        const auto found = times.find(name);
        return found == times.end() ? std::nullopt : std::optional(median(found->second.steps_s));
    };
    const auto over = [](std::optional<double> one, std::optional<double> other) {
        return one && other ? fmt::format("{:.2f}", *one / *other) : std::string("-");
    };
    if (options.json) {
        nlohmann::json document = {{"model", options.model},    {"batch", options.batch},
                                   {"ranks", comm.size()},      {"rounds", options.rounds},
                                   {"libtorch", TORCH_VERSION}, {"ways", nlohmann::json::array()}};
        for (const std::string& name : names) {
            document["ways"].push_back(
                {{"name", name},
                 {"median_s", *median_of(name)},
                 {"steps_s", times.at(name).steps_s},
                 {"differ", times.at(name).differ}}
            );
        }
        return document.dump(2) + "\n";
    }
    std::string text = fmt::format(
        "a step of {} on {} ranks with {} pictures each, LibTorch {}; medians of {} rounds\n\n"
        "{:<10} {:>9} {:>10} {:>13}   {}\n",
        options.model, comm.size(), options.batch, TORCH_VERSION, options.rounds, "way", "ms",
        "over none", "pytorch over", "gradients as PyTorch's"
    );
    for (const std::string& name : names) {
        const Times& one = times.at(name);
        std::string compared = "-";
        if (times.contains("pytorch") && name != "none") {
            compared = one.differ == 0
                           ? "bit for bit"
                           : fmt::format("not in {} of {} steps", one.differ, options.rounds);
        }
        text += fmt::format(
            "{:<10} {:>9.1f} {:>10} {:>13}   {}\n", name, 1e3 * *median_of(name),
            over(median_of(name), median_of("none")), over(median_of("pytorch"), median_of(name)),
            compared
        );
    }
    return text;
}

std::string measure(const DdpOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    Ways ways;
    for (const std::string& name : options.ways) {
        torch::manual_seed(1);  // the same weights for all
        const auto limits = nn::bucket_limits(options.bucket_cap_mb);
        ways.emplace_back(name, make_contestant(name, nn::make_model(options.model), limits, comm));
    }
    std::map<std::string, Times> times;
    constexpr int kWarmUp = 2;  // in the second, plans are made anew
    for (int round = 0; round < kWarmUp + options.rounds; ++round) {
        if (round == kWarmUp) {
            times.clear();
        }
        if (options.progress && comm.rank() == 0) {
            fmt::print(
                stderr, "\r{:<40}", fmt::format("round {} of {}", round, kWarmUp + options.rounds)
            );
        }
        measure_round(ways, make_batch(options.batch, comm.rank(), round), round, times, comm);
    }
    if (options.progress && comm.rank() == 0) {
        fmt::print(stderr, "\r{:<40}\r", "");
    }
    return to_text(options, options.ways, times, comm);
}

int run(int argc, char** argv, const Communicator& comm) {
    constexpr int kUsage = 2;
    try {
        std::string text;
        const DdpOptions options = parse(argc, argv, text);
        if (text.empty()) {
            text = measure(options, comm);
        }
        if (comm.rank() == 0) {
            if (options.to.empty()) {
                std::fputs(text.c_str(), stdout);
            } else {
                files::write_atomically(options.to, text);
            }
        }
        return 0;
    } catch (const UsageError& error) {
        if (comm.rank() == 0) {
            fmt::print(stderr, "bench ddp: {}\n", error.what());
        }
        return kUsage;
    }
}

}  // namespace
}  // namespace dist::lab

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        return dist::lab::run(argc, argv, comm);
    });
}
