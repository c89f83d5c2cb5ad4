#include "course/simulate/measured_work.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

constexpr const char* kHowToMeasure =
    "measure with ./shardlings train --parallel none --steps 12 --log FILE";

/// The lines of steps, without those of epochs and of the run.
std::vector<nlohmann::json> steps_in(std::istream& in, const std::string& name) {
    std::vector<nlohmann::json> steps;
    for (std::string line; std::getline(in, line);) {
        const auto record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (record.is_discarded() && in.eof() && !steps.empty()) {
            break;  // a run that was killed may have left half a line
        }
        if (!record.is_object() || !record.contains("step")) {
            throw UsageError(
                fmt::format("--log {}: is not the log of a training run; {}", name, kHowToMeasure)
            );
        }
        if (record.contains("images")) {
            steps.push_back(record);
        }
    }
    return steps;
}

double median_of(const std::vector<nlohmann::json>& steps, const char* part) {
    std::vector<double> seconds(steps.size());
    std::ranges::transform(steps, seconds.begin(), [part](const nlohmann::json& step) {
        return step.value(part, 0.0);
    });
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    return *middle;
}

}  // namespace

MeasuredWork read_measured_work(const std::filesystem::path& log) {
    constexpr std::size_t kFirst = 2;       // steps that do not count
    constexpr double kOthersAtMost = 0.01;  // of a step that is spent on messages, in one process
    std::ifstream in(log);
    if (!in) {
        throw UsageError(fmt::format("--log {}: cannot be read", log.string()));
    }
    std::vector<nlohmann::json> steps = steps_in(in, log.string());
    if (steps.size() <= kFirst) {
        throw UsageError(fmt::format(
            "--log {}: has {} steps, of which the first {} do not count; {}", log.string(),
            steps.size(), kFirst, kHowToMeasure
        ));
    }
    MeasuredWork measured;
    measured.batch = steps.back().value("images", std::size_t{0}) /
                     std::max<std::size_t>(1, steps.back().value("step", std::size_t{0}));
    steps.erase(steps.begin(), steps.begin() + kFirst);
    measured.steps = steps.size();
    measured.work = {
        .data_s = median_of(steps, "data_s"),
        .forward_s = median_of(steps, "forward_s"),
        .backward_s = median_of(steps, "backward_s"),
        .optimizer_s = median_of(steps, "optimizer_s")};
    if (median_of(steps, "communication_s") > kOthersAtMost * measured.work.step_s()) {
        throw UsageError(fmt::format(
            "--log {}: comes from a run on several ranks, which waited for each other; {}",
            log.string(), kHowToMeasure
        ));
    }
    return measured;
}

}  // namespace dist::cli
