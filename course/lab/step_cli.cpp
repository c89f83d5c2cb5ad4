#include "course/lab/step_cli.hpp"

#include <fmt/format.h>

#include "course/lab/options.hpp"
#include "course/lab/verdict.hpp"

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
    app.add_option(
           "--rounds", options.rounds,
           "Timed steps of each way, taken in turn; 15, and up to 45 until the times settle, if "
           "not given"
    )
        ->check(CLI::Range(1, 1'000'000))
        ->each([&options](const std::string& rounds) { options.most_rounds = std::stoi(rounds); });
    app.add_option("--ways", options.ways, "Only these, such as " + ways[0] + "," + ways[1])
        ->delimiter(',')
        ->check(CLI::IsMember(ways))
        ->allow_extra_args(false);
    app.add_flag("--json", options.json, "One JSON document on standard output, nothing else");
    app.add_option("--answer", options.to, "Write here what would go to standard output")
        ->group("");
    app.add_flag("--progress", options.progress, "Show progress on standard error");
}

std::string ratio_text(
    const std::vector<Block>& blocks, std::size_t a, std::size_t b, bool shares_cores
) {
    const Interval ratio = ratio_of(blocks, a, b);
    const bool settled = why_unsettled(blocks, a).empty() && why_unsettled(blocks, b).empty();
    const Lead lead =
        settled ? lead_of(ratio, shares_cores ? kSharedCores : kOwnCores) : Lead::undecided;
    return fmt::format("{:.2f}{}", ratio.value, a == b ? ' ' : mark_of(lead));
}

std::string marks_explained(
    const std::vector<std::string>& ways, const std::vector<Block>& blocks
) {
    std::string text = fmt::format(
        "\n= within {}   ? undecided: the 99 % interval leaves it open, a time has not settled, "
        "or\n                  ranks share cores, and the difference is less than {}\n",
        percent_of(kOwnCores.level), percent_of(kSharedCores.lead)
    );
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        reasons.push_back(why_unsettled(blocks, i));
    }
    for (const std::string& line : unsettled_in_words(ways, reasons)) {
        text += fmt::format("not settled: {}\n", line);
    }
    return text;
}

std::vector<double> steps_of(const std::vector<Block>& blocks, std::size_t way) {
    std::vector<double> seconds;
    seconds.reserve(blocks.size());
    for (const Block& block : blocks) {
        seconds.push_back(block.rounds.front()[way].max_s);
    }
    return seconds;
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
