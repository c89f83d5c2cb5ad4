// What simulate train takes with --model gpt, and its help.
#include <array>
#include <fmt/format.h>
#include <string>

#include "course/cli/simulate_gpt.hpp"
#include "course/process/error.hpp"

namespace dist::cli {
namespace {

constexpr int kMostOfASize = 1'000'000;

}  // namespace

const char* const kGptHelp =
    "\n"
    "--model gpt is calculated. Layers are cut over tp ranks, which are neighbours, stages\n"
    "of layers stand on pp ranks, and dp ranks take sequences of their own. All layouts\n"
    "are looked at: meshes of dp, tp and pp, sizes of micro-batches, chunks of a stage\n"
    "(the interleaved schedule), with activations kept or computed again, with and without\n"
    "ZeRO's first stage. What no rank can hold is dropped. The fastest ten meshes are\n"
    "shown: work (forward and backward), bubble, messages of each dimension, optimizer.\n"
    "By default 1024 ranks train on 1536 sequences a step: A100 of 80 GB on nodes of 8, as\n"
    "in Narayanan et al. 2021, with 25 GB/s and 5 us between nodes (--bandwidth, --latency).\n"
    "  ./shardlings simulate train --model gpt --layers 96 --width 12288 --heads 96 \\\n"
    "      --context 2048 --vocabulary 51200 --batch 1536 --ranks 1024 --svg gpt.svg\n"
    "  ./shardlings simulate train --model gpt --mesh dp=8,tp=8,pp=16 --recompute yes\n"
    "  ./shardlings simulate train --model gpt --published";

void add_gpt_options(Command& train, GptArguments& arguments) {
    const std::string group = "Of --model gpt";
    const auto number = [&](const char* name, int& to, const char* what) {
        train.add_option(name, to, what)
            .between(1, kMostOfASize)
            .capture_default_str()
            .group(group);
    };
    const auto text = [&](const char* name, std::string& to, const char* what) {
        return train.add_option(name, to, what).group(group);
    };
    number("--layers", arguments.layers, "Blocks, one behind the other");
    number("--width", arguments.width, "Floats that stand for a token between two blocks");
    number("--heads", arguments.heads, "Of attention; they share the width");
    number("--context", arguments.context, "Tokens of a sequence");
    number("--vocabulary", arguments.vocabulary, "Tokens that there are");
    text("--mesh", arguments.mesh, "Only this one: dp=8,tp=8,pp=16, or some of the three");
    train.add_option("--micro-batch", arguments.micro_batch, "Only so many sequences at a time")
        .between(1, kMostOfASize)
        .group(group);
    train.add_option("--chunks", arguments.chunks, "Only so many chunks of layers in a stage")
        .between(1, kMostOfASize)
        .group(group);
    text("--recompute", arguments.recompute, "Only with activations computed again, or without")
        .one_of({"yes", "no"});
    text("--zero", arguments.zero, "Only with the optimizer's state whole (0), or shared (1)")
        .one_of({"0", "1"});
    train.add_option("--gradient-bytes", arguments.gradient_bytes, "Of a gradient: 2 or 4")
        .one_of({"2", "4"})
        .capture_default_str()
        .group(group);
    train
        .add_flag(
            "--sequence-parallel", arguments.sequence_parallel,
            "What lies between the cut layers is cut along the sequence"
        )
        .group(group);
    text("--flops", arguments.flops, "Operations a second of a rank").capture_default_str();
    text("--memory", arguments.memory, "Memory of a rank").capture_default_str();
    text("--memory-bandwidth", arguments.memory_bandwidth, "Its bytes a second")
        .capture_default_str();
    text("--efficiency", arguments.efficiency, "What is reached of both rates; --published fits it")
        .capture_default_str();
    number("--per-node", arguments.per_node, "Ranks of a node");
    text("--inside-latency", arguments.inside_latency, "Latency inside of a node")
        .capture_default_str();
    text("--inside-bandwidth", arguments.inside_bandwidth, "Of each rank's link inside of a node")
        .capture_default_str();
    train
        .add_flag(
            "--published", arguments.published,
            "Ten GPTs that others have trained (Narayanan et al. 2021), beside these formulas"
        )
        .group(group);
}

void expect_options_of(const Command& train, TrainQuestion question) {
    constexpr std::array kOfPictures = {"--forward",   "--backward",  "--optimizer", "--data",
                                        "--log",       "--bucket-mb", "--parallel",  "--mine",
                                        "--as",        "--compute",   "--platform",  "--servers",
                                        "--staleness", "--html"};
    constexpr std::array kOfGpt = {"--layers",      "--width",           "--heads",
                                   "--context",     "--vocabulary",      "--mesh",
                                   "--micro-batch", "--chunks",          "--recompute",
                                   "--zero",        "--gradient-bytes",  "--sequence-parallel",
                                   "--flops",       "--memory",          "--memory-bandwidth",
                                   "--efficiency",  "--per-node",        "--inside-latency",
                                   "--published",   "--inside-bandwidth"};
    constexpr std::array kOfBoth = {"--batch", "--model", "--latency", "--bandwidth"};
    constexpr std::array kOfFailures = {
        "--checkpoint-seconds", "--restart-seconds", "--intervals", "--step-seconds",
        "--replicas",           "--failures",        "--seed"};
    const auto refuse = [&](const auto& options, const char* why) {
        for (const char* const option : options) {
            if (train.given(option)) {
                throw UsageError(fmt::format("{} {}", option, why));
            }
        }
    };
    switch (question) {
        case TrainQuestion::pictures:
            refuse(kOfGpt, "goes with --model gpt only");
            refuse(kOfFailures, "goes with --mtbf only");
            break;
        case TrainQuestion::gpt:
            refuse(kOfPictures, "goes with models of pictures only");
            refuse(kOfFailures, "goes with --mtbf only");
            break;
        case TrainQuestion::failures:
            refuse(kOfPictures, "does not go with --mtbf");
            refuse(kOfGpt, "does not go with --mtbf");
            refuse(kOfBoth, "does not go with --mtbf");
            break;
    }
}

}  // namespace dist::cli
