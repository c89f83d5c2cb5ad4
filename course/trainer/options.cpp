#include "course/trainer/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "course/parallel/stop.hpp"

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

// CLI11's own ranges name their limits, in up to 309 digits.

std::string check_whole(const std::string& text, std::uint64_t least) {
    constexpr std::uint64_t kMost = 1'000'000'000'000;
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stopped == end && least <= number && number <= kMost
               ? ""
               : text + ": give a whole number from " + std::to_string(least) + " to 10^12";
}

std::string check_from_1(const std::string& text) {
    return check_whole(text, 1);
}

std::string check_replicas(const std::string& text) {
    constexpr int kMost = 64;
    const bool short_number = text.size() <= 2 && check_from_1(text).empty();
    return short_number && std::stoi(text) <= kMost
               ? ""
               : text + ": give a whole number from 1 to " + std::to_string(kMost);
}

std::string check_from_0(const std::string& text) {
    return check_whole(text, 0);
}

// NaN is no number here.
std::string check_real(const std::string& text, bool (*good)(double), const char* wanted) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0';
    return whole && std::isfinite(number) && good(number) ? "" : text + ": give a number " + wanted;
}

std::string check_rate(const std::string& text) {
    return check_real(
        text, [](double rate) { return rate > 0; }, "above 0"
    );
}

std::string check_below_1(const std::string& text) {
    return check_real(
        text, [](double number) { return 0 <= number && number < 1; }, "from 0 up to 1"
    );
}

std::string check_decay(const std::string& text) {
    return check_real(
        text, [](double decay) { return decay >= 0; }, "of 0 or more"
    );
}

std::string usual_rates() {
    std::ostringstream text;
    text << usual_rate("sgd") << "; " << usual_rate("adamw") << " with adamw";
    return text.str();
}

/// What is trained on, how long, and by whom.
void declare_run(CLI::App& app, Options& options) {
    app.add_option("--data", options.data, "Folder with CIFAR-10's .bin files")->type_name("DIR");
    app.add_option(
           "--model", options.model,
           "resnet34, resnet34-imagenet (the larger stem, ten times faster) or small"
    )
        ->check(CLI::IsMember({"resnet34", "resnet34-imagenet", "small"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Pictures per rank and step")
        ->check(check_from_1)
        ->capture_default_str();
    app.add_option(
           "--last-batch", options.last_batch,
           "Where the pictures do not fill an epoch's last batch on every rank: fill, from the "
           "epoch's beginning; short, as PyTorch's sampler has it; drop"
    )
        ->check(CLI::IsMember({"fill", "short", "drop"}))
        ->capture_default_str();
    app.add_option(
           "--accumulate", options.accumulate,
           "So many steps add their gradients up, and exchange them once: a batch that is as many "
           "times as large, in the memory of one"
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
    app.add_option_function<std::string>(
           "--parallel",
           [&](const std::string& name) { options.parallel = find_way(name)->parallel; },
           describe_ways()
    )
        ->check(check_parallel)
        ->type_name("NAME")
        ->default_str(std::string(way_of(options.parallel).name));
    app.add_option("--replicas", options.replicas, "Of --parallel dp: threads that share the batch")
        ->check(check_replicas)
        ->capture_default_str();
    app.add_option(
           "--bucket-cap-mb", options.bucket_cap_mb,
           "Of --parallel ddp and zero2: MiB at which a bucket of gradients is full; 0: one a "
           "parameter"
    )
        ->check(check_from_0)
        ->type_name("MIB")
        ->capture_default_str();
    app.add_option("--train-size", options.train_size, "At most so many training pictures")
        ->check(check_from_0);
    app.add_option("--test-size", options.test_size, "At most so many test pictures")
        ->check(check_from_0);
}

/// What is written.
void declare_output(CLI::App& app, Options& options) {
    app.add_option(
           "--log", options.log, "Writes one JSON line per step and epoch, and where the time went"
    )
        ->type_name("FILE");
    app.add_option(
           "--trace", options.trace,
           "Writes what each rank did when, in ten steps from the third on, as a Chrome trace a "
           "rank, "
           "for Perfetto and HTA"
    )
        ->type_name("DIR");
    auto* const checkpoint =
        app.add_option(
               "--checkpoint", options.checkpoint, "Saves after every epoch, in this folder"
        )
            ->type_name("DIR");
    app.add_option("--save-every", options.save_every, "Saves also after so many steps")
        ->check(check_from_1)
        ->needs(checkpoint)
        ->type_name("STEPS");
    app.add_flag("--resume", options.resume, "Goes on from the checkpoint")->needs(checkpoint);
    app.add_option(
           "--stop-after", options.stop_after,
           "Saves and ends after this step, as if interrupted; with --accumulate, when gradients "
           "are "
           "exchanged next"
    )
        ->check(check_from_1)
        ->needs(checkpoint);
}

/// Who is waited for, and how long.
void declare_timeout(CLI::App& app, Options& options) {
    app.add_option(
           "--timeout", options.timeout_s,
           "A rank that the others have waited for so long is named, and the run ends"
    )
        ->check(check_rate)
        ->type_name("SECONDS")
        ->capture_default_str();
}

/// How the weights follow the pictures.
void declare_training(CLI::App& app, Options& options) {
    app.add_option("--seed", options.seed, "Of weights, order and augmentation")
        ->check(check_from_0)
        ->capture_default_str();
    app.add_option("--dtype", options.dtype, "fp32, or bf16: matrix products in bfloat16")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    app.add_option(
           "--device", options.device,
           "cpu, or cuda: a GPU a rank, whose memory holds model and pictures, and NCCL"
    )
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    app.add_flag(
        "--channels-last", options.channels_last,
        "Colours of a pixel side by side in memory: faster convolutions on some machines"
    );
    app.add_option("--optimizer", options.optimizer, "sgd, with Nesterov's momentum, or adamw")
        ->check(CLI::IsMember({"sgd", "adamw"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--rate", options.rate, "The highest learning rate of the run")
        ->check(check_rate)
        ->default_str(usual_rates());
    app.add_option(
           "--schedule", options.schedule,
           "cosine: up over a twentieth of the run, then down to 0; onecycle: up over three "
           "tenths, from a 25th, then down"
    )
        ->check(CLI::IsMember({"cosine", "onecycle"}))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--momentum", options.momentum, "Of sgd, of Nesterov's kind")
        ->check(check_below_1)
        ->capture_default_str();
    app.add_option("--weight-decay", options.weight_decay, "Pulls the weights towards 0")
        ->check(check_decay)
        ->capture_default_str();
    app.add_option(
           "--label-smoothing", options.label_smoothing,
           "So much of a label's 1 is shared out among all classes"
    )
        ->check(check_below_1)
        ->capture_default_str();
    app.add_option(
           "--augment", options.augment,
           "crop-flip: training pictures moved by up to 4 pixels, half of them mirrored; none: as "
           "they are"
    )
        ->check(CLI::IsMember({"crop-flip", "none"}))
        ->type_name("NAME")
        ->capture_default_str();
}

void declare(CLI::App& app, Options& options) {
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->group("Training");
    declare_run(app, options);
    declare_output(app, options);
    declare_timeout(app, options);
    declare_training(app, options);
}

}  // namespace

double usual_rate(const std::string& optimizer) {
    return optimizer == "sgd" ? 0.05 : 0.001;
}

std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app("Trains a network on CIFAR-10, on the course's own collectives.", "trainer");
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
        throw Stop("--replicas is of --parallel dp");
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

std::string describe_run(const Options& options, std::size_t pictures, int ranks) {
    std::ostringstream text;
    text << "model " << options.model << ", seed " << options.seed << ", " << pictures
         << " pictures, " << options.batch * static_cast<std::size_t>(ranks) << " of them a step, "
         << (options.last_batch == "fill" ? "" : "the last batch " + options.last_batch + ", ")
         << (options.accumulate > 1
                 ? "gradients of " + std::to_string(options.accumulate) + " steps added up, "
                 : "")
         << options.dtype << ", " << options.optimizer << ", rate " << options.rate << " on "
         << options.schedule << ", momentum " << options.momentum << ", weight decay "
         << options.weight_decay << ", label smoothing " << options.label_smoothing << ", augment "
         << options.augment;
    return text.str();
}

}  // namespace dist::trainer
