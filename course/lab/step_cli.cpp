#include "course/lab/step_cli.hpp"

#include "course/lab/options.hpp"

namespace dist::lab {

void add_step_options(CLI::App& app, StepOptions& options, const std::vector<std::string>& ways) {
    options.ways = ways;
    app.add_option("--model", options.model, "resnet34, resnet34-imagenet or small")
        ->check(CLI::IsMember({"resnet34", "resnet34-imagenet", "small"}))
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Pictures per rank")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option(
           "--bucket-cap-mb", options.bucket_cap_mb,
           "MiB at which a bucket is full; 0: a bucket for each parameter"
    )
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "Timed steps of each way, taken in turn")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--ways", options.ways, "Only these, such as " + ways[0] + "," + ways[1])
        ->delimiter(',')
        ->check(CLI::IsMember(ways))
        ->allow_extra_args(false);
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--answer", options.to, "Write here what would go to standard output")->group("");
    app.add_flag("--progress", options.progress, "Show progress on standard error");
}

void parse(CLI::App& app, int argc, char** argv, std::string& help) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        help = app.help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
}

}  // namespace dist::lab
