// train: the course's trainer on many processes, on the reference stack or on the student's own.
#include <memory>
#include <string>
#include <vector>

#include "course/cli/build/setup.hpp"
#include "course/cli/commands/command.hpp"
#include "course/cli/commands/passed_on.hpp"
#include "course/cli/launch/launch.hpp"
#include "course/cli/launch/mine.hpp"

namespace dist::cli {
namespace {

constexpr const char* kOptions =
    "These go to the trainer:\n"
    "  --data DIR                 pictures in CIFAR-10's binary format\n"
    "  --model NAME               resnet34, resnet34-imagenet, small\n"
    "  --batch B                  pictures a rank and step\n"
    "  --steps N, --epochs E      when to end\n"
    "  --parallel ddp             how the work is split\n"
    "  --log FILE.jsonl           one line a step: loss, seconds by part\n"
    "  --checkpoint DIR           where to keep the state; --resume goes on from there\n"
    "  --seed S, --dtype fp32|bf16\n";

struct TrainOptions {
    int ranks = 2;
    std::string stack = "reference";
    bool help = false;
};

void train(Context& context, const TrainOptions& options, std::vector<std::string> passed_on) {
    expect_rank_count(options.ranks);
    ensure_torch(context);
    std::string target = "trainer";
    if (options.stack == "mine") {
        configure_mine(context, finished_exercises(context, true));
        target = "trainer_mine";
    }
    if (options.help) {
        passed_on.emplace_back("--help");
    }
    const auto program = context.build_folder() / "course" / "trainer" / target;
    build_with_notice(
        context, target, program, "Building the trainer (a few minutes the first time)"
    );
    context.status =
        run_ranks(context, options.help ? 1 : options.ranks, Purpose::work, program, passed_on);
}

}  // namespace

void add_train(Command& app, Context& context) {
    auto command = app.add_subcommand("train", "Train ResNet34 on CIFAR-10, on many processes");
    auto options = std::make_shared<TrainOptions>();
    command.add_option("-n,--ranks", options->ranks, "Processes").capture_default_str();
    command.add_option("--stack", options->stack, "Whose code carries the gradients")
        .one_of({"reference", "mine"})
        .capture_default_str();
    command.add_flag("--help-trainer", options->help, "The trainer's own options");
    command.footer(kOptions);
    pass_on_the_rest(command, context);
    command.callback([&context, command, options] { train(context, *options, command.remaining()); }
    );
}

}  // namespace dist::cli
