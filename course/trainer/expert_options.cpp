#include "course/trainer/expert_options.hpp"

#include <string>

#include "course/parallel/stop.hpp"
#include "course/trainer/option_checks.hpp"

namespace dist::trainer {

namespace {

constexpr std::uint64_t kMostExperts = 4096;

void expect_on_mesh(const Options& options) {
    const std::int64_t experts = options.gpt.experts.count;
    if (experts % options.mesh.ep != 0) {
        throw Stop(
            "--mesh ep=" + std::to_string(options.mesh.ep) + " does not divide --experts " +
            std::to_string(experts)
        );
    }
    if (options.sequence_parallel) {
        throw Stop("--experts takes whole tokens: not with --sequence-parallel");
    }
    if (options.zero > 1) {
        throw Stop("--experts has its gradients divided after backward: --zero 0 or 1");
    }
}

}  // namespace

void declare_experts(CLI::App& app, Options& options) {
    nn::ExpertShape& experts = options.gpt.experts;
    app.add_option(
           "--experts", experts.count,
           "For --model gpt: N experts in each block in the place of its two layers; a router asks "
           "a few of them for each byte. 0: none"
    )
        ->check([](const std::string& text) { return check_whole(text, 0, kMostExperts); })
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--expert-choices", experts.choices, "How many experts a byte asks")
        ->check([](const std::string& text) { return check_whole(text, 1, kMostExperts); })
        ->type_name("K")
        ->capture_default_str();
    app.add_option(
           "--capacity-factor", experts.capacity_factor,
           "Of each rank's bytes an expert takes this many times its even share, and drops the rest"
    )
        ->check(check_rate)
        ->capture_default_str();
    app.add_option(
           "--balance", experts.balance,
           "What the loss that keeps experts equally busy is multiplied by; a mesh counts the "
           "choices "
           "of all ranks for it, every other way those of each rank alone"
    )
        ->check(check_decay)
        ->capture_default_str();
}

void expect_experts(const CLI::App& app, const Options& options) {
    const nn::ExpertShape& experts = options.gpt.experts;
    if (experts.count == 0) {
        for (const char* const name : {"--expert-choices", "--capacity-factor", "--balance"}) {
            if (app.count(name) > 0) {
                throw Stop(std::string(name) + " goes with --experts only");
            }
        }
        if (options.mesh.ep > 1) {
            throw Stop(
                "--mesh ep=" + std::to_string(options.mesh.ep) + " goes with --experts only"
            );
        }
        return;
    }
    if (experts.choices > experts.count) {
        throw Stop(
            "--expert-choices " + std::to_string(experts.choices) + " is more than --experts " +
            std::to_string(experts.count)
        );
    }
    if (options.parallel == Parallel::dp) {
        throw Stop("--experts does not go with --parallel dp, whose threads add their losses up");
    }
    if (options.accumulate > 1) {
        throw Stop("--experts does not go with --accumulate");
    }
    if (options.dtype != "fp32") {
        throw Stop("--experts computes in fp32");
    }
    expect_on_mesh(options);
}

}  // namespace dist::trainer
