#include "course/trainer/options.hpp"

#include <CLI/CLI.hpp>

#include "course/trainer/stop.hpp"

namespace dist::trainer {

namespace {

// How the work can be spread over the ranks. Later chapters add theirs here.
std::string check_parallel(const std::string& way) {
    return way == "ddp" ? "" : "\"" + way + "\" is not there (yet); there is: ddp";
}

void declare(CLI::App& app, Options& options) {
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--data", options.data, "Folder with CIFAR-10's .bin files")->type_name("DIR");
    app.add_option(
           "--model", options.model,
           "resnet34, resnet34-imagenet (the larger stem, ten times faster) or small"
    )
        ->check(CLI::IsMember({"resnet34", "resnet34-imagenet", "small"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Pictures per rank and step")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    auto* const steps = app.add_option("--steps", options.steps, "How long to train, in steps")
                            ->check(CLI::PositiveNumber);
    app.add_option("--epochs", options.epochs, "How long to train, in epochs")
        ->check(CLI::PositiveNumber)
        ->excludes(steps)
        ->capture_default_str();
    app.add_option("--parallel", options.parallel, "How the work is spread over the ranks: ddp")
        ->check(check_parallel)
        ->capture_default_str();
    app.add_option("--log", options.log, "Writes one JSON line per step and per epoch")
        ->type_name("FILE");
    auto* const checkpoint =
        app.add_option(
               "--checkpoint", options.checkpoint, "Saves after every epoch, in this folder"
        )
            ->type_name("DIR");
    app.add_flag("--resume", options.resume, "Goes on from the checkpoint")->needs(checkpoint);
    app.add_option("--seed", options.seed, "Of weights, order and augmentation")
        ->capture_default_str();
    app.add_option("--dtype", options.dtype, "fp32, or bf16: matrix products in bfloat16")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    app.add_option("--rate", options.rate, "Learning rate at the start; it falls to 0 on a cosine")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--momentum", options.momentum, "Of Nesterov's kind")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--weight-decay", options.weight_decay, "Pulls the weights towards 0")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--train-size", options.train_size, "At most so many training pictures");
    app.add_option("--test-size", options.test_size, "At most so many test pictures");
    app.add_option(
           "--stop-after", options.stop_after, "Saves and ends after this step, as if interrupted"
    )
        ->check(CLI::PositiveNumber);
}

}  // namespace

std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app(
        "Trains a network on CIFAR-10, data parallel, on the course's own collectives.", "trainer"
    );
    declare(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::ParseError& error) {
        throw Stop(std::string(error.what()) + " (--help lists the options)");
    }
    return std::nullopt;
}

}  // namespace dist::trainer
