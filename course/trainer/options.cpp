#include "course/trainer/options.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "course/parallel/stop.hpp"
#include "course/trainer/expert_options.hpp"
#include "course/trainer/fault_tolerant_options.hpp"
#include "course/trainer/mesh_options.hpp"
#include "course/trainer/option_checks.hpp"
#include "course/trainer/output_options.hpp"

namespace dist::trainer {

namespace {

std::string check_parallel(const std::string& name) {
    return find_way(name) != nullptr
               ? ""
               : "\"" + name + "\" is not there (yet); there is: " + way_names();
}

std::string describe_ways() {
    std::string text = "How the work is spread over the ranks:";
    for (const Way& way : ways()) {
        text += "\n" + std::string(way.name) + ": " + std::string(way.what);
    }
    return text;
}

std::string usual_rates() {
    std::ostringstream text;
    text << usual_rate("sgd") << "; " << usual_rate("adamw") << " with adamw";
    return text.str();
}

/// What is trained, and for how long.
void declare_run(CLI::App& app, Options& options) {
    app.add_option("--data", options.data, "Folder with CIFAR-10's .bin files")->type_name("DIR");
    app.add_option(
           "--model", options.model,
           "Of pictures: resnet34, resnet34-imagenet (the larger stem, ten times faster) or small; "
           "of text: gpt"
    )
        ->check(CLI::IsMember({"resnet34", "resnet34-imagenet", "small", kGpt}))
        ->type_name("NAME")
        ->capture_default_str();
    auto* const batch =
        app.add_option("--batch", options.batch, "Pictures, or windows of text, per rank and step")
            ->check(check_from_1)
            ->capture_default_str();
    auto* const global_batch =
        app.add_option(
               "--global-batch", options.global_batch,
               "Of all ranks together, instead: a step has the same examples on any number of "
               "ranks"
        )
            ->check(check_from_1)
            ->excludes(batch);
    app.add_option(
           "--last-batch", options.last_batch,
           "What to do when the examples do not fill the last batch of an epoch on every rank: "
           "fill it "
           "from the epoch's beginning; make it short, as PyTorch's sampler does; or drop it"
    )
        ->check(CLI::IsMember({"fill", "short", "drop"}))
        ->excludes(global_batch)
        ->capture_default_str();
    app.add_option(
           "--accumulate", options.accumulate,
           "Add up the gradients of K steps and exchange them once: a batch K times as large in "
           "the "
           "memory of one"
    )
        ->check(check_from_1)
        ->type_name("K")
        ->capture_default_str();
    auto* const steps = app.add_option("--steps", options.steps, "How long to train, in steps")
                            ->check(check_from_1);
    app.add_option("--epochs", options.epochs, "How long to train, in epochs")
        ->check(check_from_1)
        ->excludes(steps)
        ->capture_default_str();
}

/// By whom, and on how much of the data.
void declare_ranks(CLI::App& app, Options& options) {
    app.add_option_function<std::string>(
           "--parallel",
           [&](const std::string& name) { options.parallel = find_way(name)->parallel; },
           describe_ways()
    )
        ->check(check_parallel)
        ->type_name("NAME")
        ->default_str(std::string(way_of(options.parallel).name));
    app.add_option(
           "--replicas", options.replicas,
           "For --parallel dp: number of threads that share the batch"
    )
        ->check([](const std::string& text) { return check_whole(text, 1, 64); })
        ->capture_default_str();
    app.add_option(
           "--bucket-cap-mb", options.bucket_cap_mb,
           "For --parallel ddp and zero2: MiB at which a bucket of gradients is full; 0: a bucket "
           "for each parameter"
    )
        ->check(check_from_0)
        ->type_name("MIB")
        ->capture_default_str();
    app.add_option(
           "--servers", options.servers,
           "For --parallel ps: how many of the ranks, the last ones, hold the weights; the others "
           "are workers"
    )
        ->check([](const std::string& text) { return check_whole(text, 1, 4096); })
        ->capture_default_str();
    app.add_option(
           "--staleness", options.staleness,
           "For --parallel ps: how many steps a worker may be ahead of the slowest. 0: all take "
           "each step together, with the weights and the bits of average"
    )
        ->check(check_from_0)
        ->type_name("STEPS")
        ->capture_default_str();
    app.add_option(
           "--train-size", options.train_size, "Use at most this many training pictures, or windows"
    )
        ->check(check_from_0);
    app.add_option(
           "--test-size", options.test_size, "Use at most this many test pictures, or windows"
    )
        ->check(check_from_0);
}

/// The model of text.
void declare_gpt(CLI::App& app, Options& options) {
    app.add_option(
           "--text", options.text,
           "Files to train on, as bytes; the last tenth of each is for the test. Default: the "
           "course's lessons"
    )
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("FILE...");
    const auto number = [&](const char* name, std::int64_t& value, const char* what) {
        app.add_option(name, value, what)->check(check_from_1)->capture_default_str();
    };
    number("--context", options.gpt.context, "Bytes that it sees at most");
    number("--layers", options.gpt.layers, "Blocks, one behind the other");
    number("--width", options.gpt.width, "Floats that stand for a byte between two blocks");
    number("--heads", options.gpt.heads, "Of attention; they share the width");
}

/// How the weights follow the examples.
void declare_training(CLI::App& app, Options& options) {
    app.add_option("--seed", options.seed, "Seed of weights, order and augmentation")
        ->check(check_from_0)
        ->capture_default_str();
    app.add_option("--dtype", options.dtype, "fp32, or bf16: matrix products in bfloat16")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    app.add_option(
           "--device", options.device,
           "cpu, or cuda: one GPU for each rank, which holds model and pictures, and NCCL"
    )
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    app.add_flag(
        "--channels-last", options.channels_last,
        "Store the colours of a pixel side by side: faster convolutions on some machines"
    );
    app.add_option("--optimizer", options.optimizer, "sgd with Nesterov momentum, or adamw")
        ->check(CLI::IsMember({"sgd", "adamw"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--rate", options.rate, "The highest learning rate of the run")
        ->check(check_rate)
        ->default_str(usual_rates());
    app.add_option(
           "--schedule", options.schedule,
           "cosine: up over the first 1/20 of the run, then down to 0; onecycle: from 1/25 of the "
           "rate "
           "up over the first 3/10, then down"
    )
        ->check(CLI::IsMember({"cosine", "onecycle"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--momentum", options.momentum, "Nesterov momentum of sgd")
        ->check(check_below_1)
        ->capture_default_str();
    app.add_option("--weight-decay", options.weight_decay, "Pulls the weights towards 0")
        ->check(check_decay)
        ->capture_default_str();
    app.add_option(
           "--label-smoothing", options.label_smoothing,
           "Share of each label that is spread over all classes"
    )
        ->check(check_below_1)
        ->capture_default_str();
    app.add_option(
           "--augment", options.augment,
           "crop-flip: move training pictures by up to 4 pixels and mirror half of them; none: "
           "leave "
           "them as they are"
    )
        ->check(CLI::IsMember({"crop-flip", "none"}))
        ->type_name("NAME")
        ->capture_default_str();
}

void declare_clipping(CLI::App& app, Options& options) {
    app.add_option(
           "--clip-norm", options.clip_norm,
           "Scale the gradients down where their norm, of all parameters together, is larger; the "
           "log has it as grad_norm. Not for zero1, zero2 and zero3, whose ranks have shards"
    )
        ->check(check_rate)
        ->type_name("NORM");
}

void declare(CLI::App& app, Options& options) {
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->group("Training");
    declare_run(app, options);
    declare_gpt(app, options);
    declare_experts(app, options);
    declare_ranks(app, options);
    declare_mesh(app, options);
    declare_fault_tolerance(app, options);
    declare_output(app, options);
    declare_training(app, options);
    declare_clipping(app, options);
}

/// Options of one task say nothing in the other.
void expect_task(const CLI::App& app, const Options& options) {
    const bool of_text = options.model == kGpt;
    const std::vector<const char*> others =
        of_text ? std::vector<const char*>{"--data", "--augment", "--channels-last"}
                : std::vector<const char*>{"--text",  "--context", "--layers", "--width",
                                           "--heads", "--sample",  "--experts"};
    for (const char* const name : others) {
        if (app.count(name) > 0) {
            throw Stop(
                std::string(name) + " goes with " +
                (of_text ? "models of pictures" : "--model gpt") + " only"
            );
        }
    }
    if (of_text && options.device != "cpu") {
        throw Stop("--model gpt trains on --device cpu only");
    }
    if (of_text && options.gpt.width % options.gpt.heads != 0) {
        throw Stop(
            "--heads " + std::to_string(options.gpt.heads) + " does not divide --width " +
            std::to_string(options.gpt.width)
        );
    }
}

void expect_servers(const CLI::App& app, const Options& options) {
    const bool ps = options.parallel == Parallel::ps;
    for (const char* const name : {"--servers", "--staleness"}) {
        if (!ps && app.count(name) > 0) {
            throw Stop(std::string(name) + " goes with --parallel ps only");
        }
    }
    for (const char* const name : {"--checkpoint", "--clip-norm", "--global-batch"}) {
        if (ps && app.count(name) > 0) {
            throw Stop(
                std::string(name) +
                " does not go with --parallel ps, where servers step: each has a share, and the "
                "gradients of a worker at a time"
            );
        }
    }
}

}  // namespace

double usual_rate(const std::string& optimizer) {
    return optimizer == "sgd" ? 0.05 : 0.001;
}

std::filesystem::path checkpoint_file(const std::filesystem::path& folder) {
    return folder / "checkpoint.pt";
}

std::filesystem::path snapshot_file(const std::filesystem::path& folder) {
    return folder / "index";
}

std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app(
        "Trains a network on pictures (CIFAR-10) or text, on the course's own collectives.",
        "trainer"
    );
    declare(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::ParseError& error) {
        throw Stop(std::string(error.what()) + " (--help lists the options)");
    }
    options.rate = options.rate > 0 ? options.rate : usual_rate(options.optimizer);
    if (app.count("--replicas") > 0 && options.parallel != Parallel::dp) {
        throw Stop("--replicas goes with --parallel dp only");
    }
    expect_servers(app, options);
    expect_task(app, options);
    expect_mesh(app, options);
    expect_experts(app, options);
    expect_fault_tolerance(app, options);
    const bool shards = options.parallel == Parallel::zero1 ||
                        options.parallel == Parallel::zero2 ||
                        options.parallel == Parallel::zero3 || options.zero > 0;
    if (options.global_batch && way_of(options.parallel).on_a_mesh) {
        throw Stop(
            "--global-batch does not go with --parallel 3d, whose mesh fixes the ranks: give "
            "--batch"
        );
    }
    if (options.clip_norm && shards) {
        throw Stop("--clip-norm needs whole gradients: not zero1, zero2, zero3, nor --zero above 0"
        );
    }
    const bool for_gpu = options.parallel == Parallel::ddp || options.parallel == Parallel::none;
    if (options.device != "cpu" && !for_gpu) {
        throw Stop("--device cuda goes with --parallel ddp or none");
    }
    return std::nullopt;
}

std::string options_help() {
    Options options;
    CLI::App app;
    app.set_help_flag();
    declare(app, options);
    return CLI::Formatter().make_groups(&app, CLI::AppFormatMode::Normal);
}

}  // namespace dist::trainer
