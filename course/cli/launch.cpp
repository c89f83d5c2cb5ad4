// launch: ranks that are started again when one dies, without mpirun; torchrun's words.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/cli/passed_on.hpp"
#include "course/cli/train.hpp"
#include "course/elastic/launch_options.hpp"
#include "course/launch/mine.hpp"
#include "course/process/error.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

constexpr const char* kFooter = R"(
One agent runs on each node. It starts --nproc-per-node ranks, without mpirun, and when one of them
fails, or a node comes or goes, ends the others and starts all anew, from the last checkpoint:

  ./shardlings launch --nproc-per-node 4 --max-restarts 3 -- train --checkpoint run --save-every 20
  ./shardlings launch --nnodes 1:4 --nproc-per-node 2 --max-restarts 3 --rdzv-id job1 \
      --rdzv-endpoint node1:29400 -- train --global-batch 128 --checkpoint /shared/run

The second line is given on each node. Any program may stand in the place of train: it finds RANK,
LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment.

With --fault-tolerant nobody else is ended. The others take the next step without the one that died;
it is started again alone, and copies the weights from one of them:

  ./shardlings launch --nproc-per-node 3 --max-restarts 3 -- \
      train --fault-tolerant --global-batch 96)";

elastic::LaunchOptions read_options(const std::vector<std::string>& words) {
    try {
        return elastic::parse_launch(words);
    } catch (const std::invalid_argument& error) {
        throw UsageError(fmt::format("launch: {}", error.what()));
    }
}

/// This process becomes that program: signals and exit status are its own.
[[noreturn]] void become(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    execv(arguments[0], arguments.data());
    throw CommandError(
        exit_status::kOurs, fmt::format("{}: {}", command.front(), std::strerror(errno))
    );
}

/// Refuses what launch cannot train.
void expect_launchable(const trainer::Options& options) {
    if (options.checkpoint.empty() && !options.fault_tolerant) {
        throw UsageError(
            "launch: train needs --checkpoint DIR, or a restart begins anew; with --save-every "
            "STEPS less is lost"
        );
    }
    if (options.device != "cpu") {
        throw UsageError("launch: the transport carries what is in the host's memory: --device cpu"
        );
    }
}

/// The agent's words, for such a training.
void add_words(const trainer::Options& options, std::vector<std::string>& words) {
    if (options.fault_tolerant) {
        words.insert(words.begin(), "--restart-alone");
    }
    if (!options.checkpoint.empty()) {
        words.emplace_back("--elastic");
    }
}

void launch(Context& context, const std::string& stack, std::vector<std::string> words) {
    const elastic::LaunchOptions options = read_options(words);
    const auto program = words.end() - static_cast<std::ptrdiff_t>(options.command.size());
    const bool trains = *program == "train";
    std::vector<std::string> used = {"elastic_agent", "membership", "flight_recorder"};
    used.insert(used.end(), kOwnTransport.begin(), kOwnTransport.end());
    trainer::Options training;
    if (trains) {
        training = read_trainer_options({program + 1, words.end()});
        expect_launchable(training);
        const std::vector<std::string> of_training = used_by(training);
        used.insert(used.end(), of_training.begin(), of_training.end());
        ensure_torch(context);
    }
    std::vector<std::string> mine;
    if (stack == "mine") {
        mine = finished_exercises(context, used);
        configure_mine(context, mine);
    }
    const std::string suffix = mine.empty() ? "" : "_mine";
    const auto folder = context.build_folder() / "course";
    const auto agent = folder / "elastic" / ("launch" + suffix);
    build_with_notice(context, agent.filename(), agent, "Building the launcher");
    if (trains) {
        const auto trainer = folder / "trainer" / ("trainer" + suffix + "_own");
        build_with_notice(
            context, trainer.filename(), trainer,
            "Building the trainer (a few minutes the first time)"
        );
        *program = trainer.string();
        add_words(training, words);
    }
    print_folded(describe_stack(context, used, mine) + "\n");
    words.insert(words.begin(), agent.string());
    become(words);
}

}  // namespace

void add_launch(Command& app, Context& context) {
    auto command =
        app.add_subcommand("launch", "Train on ranks that are started again when one dies");
    auto stack = std::make_shared<std::string>("reference");
    command
        .add_option(
            "--stack", *stack,
            "Whose agent, rendezvous, transport and training: the reference's or yours"
        )
        .one_of({"reference", "mine"})
        .capture_default_str();
    command.footer(elastic::launch_help() + kFooter);
    pass_on_the_rest(command, context);
    command.callback([&context, command, stack] { launch(context, *stack, command.remaining()); });
}

}  // namespace dist::cli
