// train: the course's trainer on many processes, on the reference stack or on the student's own.
#include "course/cli/train.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/checkpoint_line.hpp"
#include "course/cli/command.hpp"
#include "course/cli/passed_on.hpp"
#include "course/launch/gpu.hpp"
#include "course/launch/mine.hpp"
#include "course/parallel/stop.hpp"
#include "course/process/error.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

Ranks ranks_for(const TrainOptions& options, const trainer::Options& read) {
    Ranks ranks{options.ranks, find_hosts(options.hostfile)};
    const trainer::Way& way = way_of(read.parallel);
    if (!options.ranks_given && way.on_a_mesh) {
        constexpr long long kTooMany = 1'000'000;
        ranks.count = static_cast<int>(std::min(trainer::ranks_of(read.mesh), kTooMany));
    } else if (!options.ranks_given) {
        ranks.count = way.one_process || !read.diagnose.empty() ? 1
                      : ranks.hosts.none()                      ? ranks.count
                                                                : 0;
        if (read.parallel == trainer::Parallel::ps && ranks.hosts.none()) {
            ranks.count += read.servers;  // the others are workers
        }
    }
    return ranks;
}

std::vector<std::string> command_line(
    const TrainOptions& options, const std::vector<std::string>& words
) {
    std::vector<std::string> line = {"./shardlings", "train"};
    if (options.ranks_given) {
        line.insert(line.end(), {"-n", std::to_string(options.ranks)});
    }
    if (!options.hostfile.empty()) {
        line.insert(line.end(), {"--hostfile", options.hostfile});
    }
    if (options.stack == "mine") {
        line.insert(line.end(), {"--stack", "mine"});
    }
    if (options.transport != "mpi") {
        line.insert(line.end(), {"--transport", options.transport});
    }
    line.insert(line.end(), words.begin(), words.end());
    return line;
}

void expect_one_machine(const Ranks& ranks, const trainer::Options& read) {
    if (!ranks.hosts.none()) {
        throw UsageError(
            "train: --transport tcp starts its ranks on this machine, and takes no hosts"
        );
    }
    if (read.device == "cuda") {
        throw UsageError("train: --transport tcp carries what is in the host's memory: --device cpu"
        );
    }
}

/// Builds what starts ranks without mpirun, and serves the store that they meet at.
std::filesystem::path build_starter(Context& context, const std::vector<std::string>& mine) {
    const bool is_mine = std::ranges::find(mine, "tcp_store_server") != mine.end();
    const std::string target = is_mine ? "start_ranks_mine" : "start_ranks";
    build_targets(context, {target});
    return context.build_folder() / "course" / "own_mpi" / target;
}

}  // namespace

trainer::Options read_trainer_options(const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"trainer"};
    for (const std::string& word : words) {
        arguments.push_back(word.c_str());
    }
    trainer::Options options;
    try {
        trainer::parse_options(static_cast<int>(arguments.size()), arguments.data(), options);
    } catch (const trainer::Stop& stop) {
        throw UsageError(fmt::format("train: {}", stop.what()));
    }
    return options;
}

std::vector<std::string> used_by(const trainer::Options& options) {
    if (options.fault_tolerant) {
        return {
            "resnet_trainer", "distributed_sampler", "evaluate", "elastic_sampler", "quorum_step"};
    }
    std::vector<std::string> used = way_of(options.parallel).uses;
    if (options.global_batch) {
        used.emplace_back("elastic_sampler");
    }
    if (options.async_save) {
        used.emplace_back("snapshot");
    }
    if (!options.flight_records.empty() || !options.diagnose.empty()) {
        used.emplace_back("flight_recorder");
    }
    return used;
}

/// Whether a run trains equal replicas on the host, for which a smaller program is enough. Not where the whole one is built already.
bool takes_replicas_alone(const Context& context, const trainer::Options& read) {
    using enum trainer::Parallel;
    const bool replicas = read.parallel == average || read.parallel == ddp ||
                          read.parallel == none || read.parallel == dp;
    return replicas && read.diagnose.empty() && read.device == "cpu" &&
           !std::filesystem::exists(context.build_folder() / "course" / "trainer" / "trainer");
}

void train(Context& context, const TrainOptions& options, const std::vector<std::string>& words) {
    const trainer::Options read = read_trainer_options(words);
    if (read.fault_tolerant) {
        throw UsageError(
            "train: --fault-tolerant needs a launcher, which starts replicas again: ./shardlings "
            "launch --nproc-per-node 3 --max-restarts 3 -- train --fault-tolerant ..."
        );
    }
    Ranks ranks = ranks_for(options, read);
    expect_rank_count(ranks);
    std::vector<std::string> used = used_by(read);
    const bool own = options.transport == "tcp";
    if (own) {
        expect_one_machine(ranks, read);
        used.insert(used.end(), kOwnTransport.begin(), kOwnTransport.end());
    }
    ensure_torch(context);
    std::string target = "trainer";
    std::vector<std::string> mine;
    if (options.stack == "mine") {
        mine = finished_exercises(context, used);
        configure_mine(context, mine);
        target = "trainer_mine";
    } else if (!own && takes_replicas_alone(context, read)) {
        target = "trainer_of_replicas";
    }
    if (read.device == "cuda") {
        if (const std::string missing = gpu_code_missing(context); !missing.empty()) {
            throw CommandError(exit_status::kFailed, "--device cuda " + missing);
        }
        target += "_gpu";
    }
    if (own) {
        target += "_own";
        ranks.starter = build_starter(context, mine);
    }
    const auto program = context.build_folder() / "course" / "trainer" / target;
    build_with_notice(
        context, target, program, "Building the trainer (a few minutes the first time)"
    );
    print_folded(describe_stack(context, used, mine) + "\n");
    std::fflush(stdout);
    const CheckpointLine checkpoint(read, command_line(options, words));
    try {
        context.status = run_ranks(context, ranks, Purpose::work, program, words);
    } catch (const Interrupted&) {
        print_folded(checkpoint.text_when_interrupted());
        throw;
    }
    print_folded(checkpoint.text(context.status == 0 && !read.stop_after));
}

void add_train(Command& app, Context& context) {
    auto command = app.add_subcommand("train", "Train ResNet34 on CIFAR-10, on many processes");
    auto options = std::make_shared<TrainOptions>();
    auto ranks = command.add_option(
        "-n,--ranks", options->ranks,
        "Number of processes (default: 2; 1 for --parallel dp and none; for 3d as many as --mesh "
        "has)"
    );
    command.add_option("--hostfile", options->hostfile, kHostfileHelp);
    command
        .add_option(
            "--stack", options->stack,
            "Whose code averages the gradients: the reference solutions' or yours"
        )
        .one_of({"reference", "mine"})
        .capture_default_str();
    command
        .add_option(
            "--transport", options->transport,
            "What carries messages: MPI, or the sockets of chapter 04, without MPI and mpirun"
        )
        .one_of({"mpi", "tcp"})
        .capture_default_str();
    command.add_flag("--help-trainer", options->help, "List the trainer's own options");
    command.footer(trainer::options_help());
    pass_on_the_rest(command, context);
    command.callback([&context, command, options, ranks] {
        options->ranks_given = ranks.count() > 0;
        if (options->help) {
            fmt::print("{}", folded_help(trainer::options_help(), columns_of(STDOUT_FILENO)));
        } else {
            train(context, *options, command.remaining());
        }
    });
}

}  // namespace dist::cli
