// bench ddp: a step of training with each way to make the mean of all gradients, side by side. Run by mpirun
// on many ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <algorithm>

#include <torch/version.h>

#include "course/lab/ddp/contestant.hpp"
#include "course/lab/ddp/ddp_results.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/steps.hpp"
#include "course/nn/bucket_limits.hpp"

namespace dist::lab {
namespace {

/// Whether two replicas have the same gradients, bit for bit.
bool same_gradients(const Contestant& one, const Contestant& other) {
    return std::ranges::equal(
        one.parameters(), other.parameters(),
        [](const at::Tensor& a, const at::Tensor& b) { return at::equal(a.grad(), b.grad()); }
    );
}

using Ways = std::vector<std::pair<std::string, std::unique_ptr<Contestant>>>;

/// Counts the ways whose gradients differ from PyTorch's in any bit, on any rank.
void compare_gradients(const Ways& ways, std::vector<long>& differ, const Communicator& comm) {
    const auto pytorch = std::ranges::find(ways, "pytorch", &Ways::value_type::first);
    if (pytorch == ways.end()) {
        return;
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const double differs = same_gradients(*ways[i].second, *pytorch->second) ? 0 : 1;
        differ[i] += slowest(differs, comm) > 0 ? 1 : 0;
    }
}

std::string measure(const StepOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    Ways ways;
    for (const std::string& name : options.ways) {
        torch::manual_seed(1);  // the same weights for all
        const auto limits = nn::bucket_limits(options.bucket_cap_mb);
        ways.emplace_back(name, make_contestant(name, nn::make_model(options.model), limits, comm));
    }
    std::vector<long> differ(ways.size());
    const std::vector<Block> blocks = time_steps(
        ways.size(), options,
        [&](std::size_t i, const nn::Batch& batch) { ways[i].second->step(batch); },
        [&] { compare_gradients(ways, differ, comm); }, comm
    );
    return to_text(options, blocks, differ, comm.size(), TORCH_VERSION);
}

int run(int argc, char** argv, const Communicator& comm) {
    return run_bench("bench ddp", comm, [&](std::string& to) {
        std::string help;
        std::vector<std::string> ways = contestant_names();
        const Machine machine = describe_machine(comm);
        if (machine.nodes > 1) {
            std::erase(ways, "gloo");  // its ranks meet in a file, and talk over loopback
        }
        StepOptions options = parse_ddp_options(argc, argv, ways, help);
        options.shares_cores = machine.oversubscribed();
        to = options.to;
        return help.empty() ? measure(options, comm) : help;
    });
}

}  // namespace
}  // namespace dist::lab

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        return dist::lab::run(argc, argv, comm);
    });
}
