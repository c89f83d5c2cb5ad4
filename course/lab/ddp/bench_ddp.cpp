// bench ddp: a step of training with each way to make the mean of all gradients, side by side. Run by mpirun
// on many ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>

#include <torch/utils.h>
#include <torch/version.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/ddp/contestant.hpp"
#include "course/lab/ddp/report.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/options.hpp"
#include "course/nn/bucket_limits.hpp"
#include "course/runtime/environment.hpp"

namespace dist::lab {
namespace {

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
            std::fprintf(stderr, "\rround %d of %d    ", round, kWarmUp + options.rounds);
        }
        measure_round(ways, make_batch(options.batch, comm.rank(), round), round, times, comm);
    }
    if (options.progress && comm.rank() == 0) {
        std::fprintf(stderr, "\r%40s\r", "");
    }
    return to_text(options, times, comm.size(), TORCH_VERSION);
}

int run(int argc, char** argv, const Communicator& comm) {
    constexpr int kUsage = 2;
    try {
        std::string text;
        const DdpOptions options = parse_ddp_options(argc, argv, contestant_names(), text);
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
            std::fprintf(stderr, "bench ddp: %s\n", error.what());
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
