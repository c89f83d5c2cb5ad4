// plot: training logs as one picture, and what they come to.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/files/atomic_file.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/plots/training_log.hpp"
#include "course/plots/training_picture.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlotExample =
    "The picture has three panels: loss, accuracy and pictures per second, against\n"
    "the number of pictures that all ranks have seen, so you can compare runs on\n"
    "different numbers of ranks. With as many pictures a step, two ranks should\n"
    "learn what one learns, in less time:\n"
    "  ./shardlings train -n 1 --model small --batch 64 --steps 200 --log one.jsonl\n"
    "  ./shardlings train -n 2 --model small --batch 32 --steps 200 --log two.jsonl\n"
    "  ./shardlings plot one.jsonl two.jsonl --svg both.svg\n"
    "Of a text, tokens stand in the place of pictures.\n"
    "You can draw a log while its run still writes it.\n";

bool same_file(const fs::path& one, const fs::path& other) {
    std::error_code absent;  // then they are not the same, and reading says what is wrong
    return fs::equivalent(one, other, absent);
}

/// Errors  UsageError.
std::vector<plots::TrainingLog> read_logs(const std::vector<fs::path>& files) {
    if (files.size() > plots::kStyles.size()) {
        throw UsageError(fmt::format(
            "plot: {} logs; more than {} in one picture cannot be told apart", files.size(),
            plots::kStyles.size()
        ));
    }
    const std::vector<std::string> names = plots::short_names(files);
    std::vector<plots::TrainingLog> logs;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto end = files.begin() + static_cast<std::ptrdiff_t>(i);
        const auto twice = std::find_if(files.begin(), end, [&](const fs::path& before) {
            return same_file(before, files[i]);
        });
        if (twice != end) {
            throw UsageError(fmt::format("plot: {} is given twice", files[i].string()));
        }
        try {
            logs.push_back(plots::read_log(files[i]));
        } catch (const plots::LogError& error) {
            throw UsageError(fmt::format("plot: {}", error.what()));
        }
        logs.back().name = names[i];
        if (logs.back().of_text != logs.front().of_text) {
            throw UsageError(fmt::format(
                "plot: {} counts {}, and {} {}: draw them apart", files.front().string(),
                plots::seen_by(logs.front()), files[i].string(), plots::seen_by(logs.back())
            ));
        }
    }
    return logs;
}

void plot(Context& context, const std::vector<fs::path>& files, fs::path svg) {
    const std::vector<plots::TrainingLog> logs = read_logs(files);
    if (svg.empty()) {
        svg = fs::path(files.front()).replace_extension(".svg");
    }
    for (const fs::path& file : files) {
        if (same_file(file, svg)) {
            throw UsageError(fmt::format(
                "plot: {} is a log, and would be replaced; give another --svg FILE", svg.string()
            ));
        }
    }
    files::check_writable(svg);
    install(context, "plot");
    if (const std::string advice = plots::missing_gnuplot(); !advice.empty()) {
        throw UsageError("plot " + advice);
    }
    try {
        plots::draw(svg, plots::training_script(logs));
    } catch (const std::runtime_error&) {
        if (interrupted()) {  // so was gnuplot
            throw Interrupted();
        }
        throw;
    }
    fmt::print("{}\nThe picture is in {}\n", plots::training_table(logs), svg.string());
}

}  // namespace

void add_plot(Command& app, Context& context) {
    auto command = app.add_subcommand("plot", "Draw logs of training, side by side");
    auto logs = std::make_shared<std::vector<std::string>>();
    auto svg = std::make_shared<std::string>();
    command.add_option("LOG", *logs, "One or several logs, written by train --log FILE").required();
    command.add_option("--svg", *svg, "Write the picture here (default: beside the first LOG)");
    command.footer(kPlotExample);
    command.callback([&context, logs, svg] { plot(context, {logs->begin(), logs->end()}, *svg); });
}

}  // namespace dist::cli
