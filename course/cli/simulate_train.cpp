// simulate train: what a step that was measured on one rank takes on a cluster.
#include "course/cli/simulate_train.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/algorithms/collective_names.hpp"
#include "course/build/setup.hpp"
#include "course/cli/simulate_goodput.hpp"
#include "course/cli/simulate_gpt.hpp"
#include "course/cli/simulated_cluster.hpp"
#include "course/cli/tested_answer.hpp"
#include "course/files/atomic_file.hpp"
#include "course/manifest/manifest.hpp"
#include "course/nn/bucket_limits.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"
#include "course/simulate/measured_work.hpp"
#include "course/simulate/trained_text.hpp"

namespace dist::cli {
namespace {

struct SimulateTrainArguments {
    std::string log;
    std::string data = "0s";
    std::string forward;
    std::string backward;
    std::string optimizer = "0s";
    int batch = 64;
    std::string model = "resnet34";
    int bucket_mb = nn::kBucketCapMb;
    std::string servers = "1";
    int staleness = 0;
    std::string ways;
    std::string mine;
    std::string as;
    ClusterArguments cluster = {.ranks = "2,4,8,16,32,64"};
    std::string csv;
    std::string svg;
    std::string html;
    GptArguments gpt;
    GoodputArguments goodput;
};

constexpr int kMostAtOnce = 1'000'000;  // pictures of a batch, MiB of a bucket

std::vector<trainer::Parallel> ways_of(const std::string& text) {
    std::vector<trainer::Parallel> chosen;
    std::vector<std::string_view> known;
    for (const trainer::Way& way : trainer::ways()) {
        if (!way.one_process && !way.on_a_mesh) {
            known.push_back(way.name);
            if (way.parallel != trainer::Parallel::ps) {  // shown where it is asked for
                chosen.push_back(way.parallel);
            }
        }
    }
    if (text.empty()) {
        return chosen;
    }
    chosen.clear();
    for (const std::string& word : between_commas(text)) {
        if (std::ranges::find(known, word) == known.end()) {
            throw UsageError(fmt::format("--parallel {}: there is {}", word, fmt::join(known, ", "))
            );
        }
        chosen.push_back(trainer::find_way(word)->parallel);
    }
    return chosen;
}

void set_work(Training& training, const SimulateTrainArguments& arguments, bool batch_given) {
    const bool measured = !arguments.forward.empty() && !arguments.backward.empty();
    if (measured == !arguments.log.empty()) {
        throw UsageError(
            "simulate train needs the time of a step on one rank: give --forward 120ms --backward "
            "240ms --optimizer 10ms, or --log FILE, which ./shardlings train --parallel none "
            "--steps 12 --log FILE writes"
        );
    }
    training.batch = static_cast<std::size_t>(arguments.batch);
    if (measured) {
        training.work = {
            .data_s = parse_seconds("--data", arguments.data),
            .forward_s = parse_seconds("--forward", arguments.forward),
            .backward_s = parse_seconds("--backward", arguments.backward),
            .optimizer_s = parse_seconds("--optimizer", arguments.optimizer)};
    } else {
        const MeasuredWork read = read_measured_work(arguments.log);
        training.work = read.work;
        training.batch = batch_given ? training.batch : read.batch;
    }
    if (training.work.step_s() <= 0) {
        throw UsageError("simulate train: a step that takes no time has no images a second");
    }
}

/// Each server's card is to be what counts, and not the workers'.
void expect_workers(const TrainingSimulation& wanted) {
    const int servers = wanted.servers.back();
    const bool has_ps = std::ranges::find(wanted.ways, trainer::Parallel::ps) != wanted.ways.end();
    if (has_ps && wanted.ranks.back() < 2 * servers) {
        throw UsageError(fmt::format(
            "--servers {}: on {} ranks there are fewer workers than servers; take more --ranks, or "
            "other ways than ps (--parallel)",
            servers, wanted.ranks.back()
        ));
    }
}

/// Before anything is built. The exercise of --mine is empty where there is none.
TrainingSimulation read_arguments(
    const Context& context, const SimulateTrainArguments& arguments, bool batch_given
) {
    TrainingSimulation wanted;
    wanted.cluster = cluster_of(arguments.cluster);
    wanted.ranks = ranks_of(arguments.cluster);
    wanted.ways = ways_of(arguments.ways);
    wanted.training.model = read_model(context.root, arguments.model);
    wanted.training.bucket_cap_mb = static_cast<std::size_t>(arguments.bucket_mb);
    wanted.servers = ranks_between_commas(arguments.servers, 1, kMostAtOnce, "servers");
    wanted.training.staleness = arguments.staleness;
    expect_workers(wanted);
    set_work(wanted.training, arguments, batch_given);
    if (!arguments.as.empty() && arguments.mine.empty()) {
        throw UsageError("--as FILE needs --mine NAME, the exercise whose place it takes");
    }
    if (!arguments.mine.empty()) {
        const Manifest manifest = read_manifest(context.root);
        wanted.mine = manifest.find(arguments.mine).name;
        expect_collective(manifest.find(arguments.mine));
        if (std::ranges::find(lab::kExercisesOnNodes, wanted.mine) !=
            lab::kExercisesOnNodes.end()) {
            throw UsageError(fmt::format(
                "--mine {0}: it is for ranks on nodes, and the ranks of simulate train have none; "
                "./shardlings simulate {0} --nodes 16 --per-node 8 times it",
                wanted.mine
            ));
        }
    }
    return wanted;
}

/// A ring of 1024 ranks passes millions of messages: what is to come is said before.
void announce(const TrainingSimulation& wanted) {
    constexpr int kMinutesFrom = 512;
    if (wanted.ranks.back() >= kMinutesFrom) {
        fmt::print(
            stderr,
            "{} ranks: each ring passes {:.1f} million messages, which takes minutes; fewer "
            "--ranks "
            "take seconds\n",
            wanted.ranks.back(), 1e-6 * wanted.ranks.back() * (wanted.ranks.back() - 1)
        );
    }
}

void simulate_train(Context& context, const SimulateTrainArguments& arguments, bool batch_given) {
    TrainingSimulation wanted = read_arguments(context, arguments, batch_given);
    expect_held(context, wanted);
    check_outputs(context, arguments.csv, arguments.svg, arguments.html);
    ensure_simgrid(context);
    std::string refused;
    if (!wanted.mine.empty()) {
        refused =
            refusal_by_test(context, read_manifest(context.root).find(wanted.mine), arguments.as);
        wanted.mine_module = build_mine(context, wanted.mine, arguments.as);
    }
    wanted.references = build_references(context);
    announce(wanted);
    Trained trained = simulate_training(context, wanted);
    if (!refused.empty()) {
        trained.notes.push_back(refused);
        context.status = exit_status::kFailed;
    }
    if (context.json) {
        fmt::print("{}", json_of(trained, wanted));
    } else {
        print_folded(table_of(trained, wanted, columns_of(STDOUT_FILENO)));
    }
    if (!arguments.csv.empty()) {
        files::write_atomically(arguments.csv, csv_of(trained));
    }
    if (!arguments.html.empty()) {
        files::write_atomically(arguments.html, page_of(trained, wanted));
    }
    if (!arguments.svg.empty()) {
        plots::draw(arguments.svg, picture_of(trained, wanted));
    }
}

void add_measured(Command& command, SimulateTrainArguments& arguments) {
    command.add_option(
        "--forward", arguments.forward, "Time of forward in a step, on one rank alone: 120ms"
    );
    command.add_option("--backward", arguments.backward, "Time of backward: 240ms");
    command
        .add_option("--optimizer", arguments.optimizer, "Time of the optimizer, for all parameters")
        .capture_default_str();
    command.add_option("--data", arguments.data, "Time to make a batch").capture_default_str();
    command.add_option(
        "--log", arguments.log,
        "Take these times from a run's log: ./shardlings train --parallel none --steps 12 --log "
        "FILE"
    );
    command
        .add_option(
            "--model", arguments.model, "As for train; gpt is calculated, and needs no time"
        )
        .capture_default_str();
}

void add_ways(Command& command, SimulateTrainArguments& arguments) {
    command.add_option(
        "--parallel", arguments.ways,
        "Only these: average,ddp,zero1,zero2,zero3,ps; all but ps if not given"
    );
    command
        .add_option(
            "--servers", arguments.servers,
            "Of ps: ranks that are servers, and no workers: 1,4,16; left out where there are fewer "
            "workers than these"
        )
        .capture_default_str();
    command
        .add_option(
            "--staleness", arguments.staleness,
            "Of ps: steps that a worker may be ahead; above 0 it waits for no messages of its step"
        )
        .between(0, kMostAtOnce)
        .capture_default_str();
}

/// What train does not know, and what stands before the word train, is simulate's: it would be forgotten.
void expect_none_of(const Command& simulate) {
    for (const std::string& option : simulate.given()) {
        if (option != "--json") {  // the same for both
            throw UsageError(fmt::format(
                "{} belongs to simulate here, not to train: ./shardlings simulate train --help "
                "lists train's options, which follow the word train",
                option
            ));
        }
    }
}

TrainQuestion question_of(const Command& command, const std::string& model) {
    return command.given("--mtbf") || command.given("--mtbf-of-rank") ? TrainQuestion::failures
           : model == "gpt"                                           ? TrainQuestion::gpt
                                                                      : TrainQuestion::pictures;
}

constexpr const char* kHelp =
    "Each rank computes for the time that was measured. Each collective takes the time\n"
    "of the course's ring on the simulated cluster. They follow each other as in train:\n"
    "  average  one all-reduce of all gradients, after backward\n"
    "  ddp      an all-reduce for each bucket, beside backward, one after another\n"
    "  zero1    after backward a reduce-scatter, a p-th of the optimizer's step, an\n"
    "           all-gather\n"
    "  zero2    a reduce-scatter for each bucket, for which backward waits; an\n"
    "           all-gather for each\n"
    "  zero3    an all-gather of each part before it computes, in forward and in\n"
    "           backward, one part ahead; a reduce-scatter of its gradients, for which\n"
    "           backward waits\n"
    "  ps       gradients to --servers of the ranks, which hold the weights, and weights\n"
    "           back: what goes through a server's card goes one after another. With\n"
    "           --staleness beside the work on the next gradients. A second table says\n"
    "           what goes through cards, and whether one of them is the limit\n"
    "Each step ends with the all-reduce of the loss. Backward's time is divided among\n"
    "the layers by their multiply-adds. hidden: time of messages while the rank\n"
    "computes; exposed: time in which it waits for messages. In this model messages\n"
    "take no processor time, and all ranks are equally fast; on real clusters neither\n"
    "holds.\n"
    "  ./shardlings simulate train --forward 120ms --backward 240ms --optimizer 10ms\n"
    "  ./shardlings simulate train --log run.jsonl --ranks 64,1024 --svg train.svg\n"
    "  ./shardlings simulate train --log run.jsonl --mine ring_all_reduce\n";

}  // namespace

Command add_simulate_train(Command& simulate, Context& context) {
    auto command = simulate.add_subcommand(
        "train",
        "Predict images a second on a cluster, from what a step takes on one rank; or the layouts "
        "of a GPT; or what failures of ranks cost"
    );
    auto arguments = std::make_shared<SimulateTrainArguments>();
    add_measured(command, *arguments);
    command
        .add_option(
            "--batch", arguments->batch,
            "Pictures per rank and step; with gpt sequences of all ranks (1536)"
        )
        .between(1, kMostAtOnce)
        .capture_default_str();
    command.add_option("--bucket-mb", arguments->bucket_mb, "MiB of a bucket, for ddp and zero2")
        .between(0, kMostAtOnce)
        .capture_default_str();
    add_ways(command, *arguments);
    add_cluster_options(command, arguments->cluster);
    command.add_option(
        "--mine", arguments->mine,
        "Use this exercise's file in place of the ring: ring_all_reduce, ring_reduce_scatter, ..."
    );
    command.add_option("--as", arguments->as, "Use this file in place of that exercise's own");
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.add_option("--csv", arguments->csv, "Write the table as CSV");
    command.add_option(
        "--svg", arguments->svg, "Draw images a second against ranks, layouts, or goodput"
    );
    command.add_option(
        "--html", arguments->html,
        "Write a page for a browser: images a second, efficiency and times, to be pointed at"
    );
    add_gpt_options(command, arguments->gpt);
    add_goodput_options(command, arguments->goodput);
    command.footer(std::string(kHelp) + kGptHelp + kGoodputHelp);
    command.callback([&context, arguments, simulate, command] {
        expect_none_of(simulate);
        const TrainQuestion question = question_of(command, arguments->model);
        expect_options_of(command, question);
        const TrainOutputs shared = {
            arguments->batch, arguments->cluster, arguments->csv, arguments->svg};
        switch (question) {
            case TrainQuestion::pictures:
                expect_used(command);
                simulate_train(context, *arguments, command.given("--batch"));
                break;
            case TrainQuestion::gpt:
                simulate_gpt(context, command, arguments->gpt, shared);
                break;
            case TrainQuestion::failures:
                simulate_goodput(context, command, arguments->goodput, shared);
                break;
        }
    });
    return command;
}

}  // namespace dist::cli
