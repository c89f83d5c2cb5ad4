// The table below a picture of training.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "course/plots/training_picture.hpp"

namespace dist::plots {
namespace {

std::string percent(double share) {
    return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}

double median_seen_per_s(const std::vector<Step>& steps) {
    std::vector<double> all;
    for (const Step& step : steps) {
        if (std::isfinite(step.seen_per_s)) {
            all.push_back(step.seen_per_s);
        }
    }
    std::ranges::sort(all);
    return all.empty() ? NAN : (all[all.size() / 2] + all[(all.size() - 1) / 2]) / 2;
}

std::string results(const TrainingLog& log, std::size_t width) {
    double best = NAN;
    for (const Test& test : log.tests) {
        best = std::fmax(best, test.accuracy);  // of a number and NaN, the number
    }
    return fmt::format(
        "{:{}}  {:>6}  {:>6}  {:>9}  {:>9}  {:>10.1f}  {:>7.2f}\n", log.name, width,
        log.steps.back().step, log.tests.size(),
        percent(log.tests.empty() ? NAN : log.tests.back().accuracy), percent(best),
        median_seen_per_s(log.steps), log.times.total_s / 60
    );
}

std::string shares(const TrainingLog& log, std::size_t width) {
    const Times& times = log.times;
    const auto share = [&](double seconds) {
        return percent(times.parts_s() > 0 ? seconds / times.total_s : NAN);
    };
    return fmt::format(
        "{:{}}  {:>6}  {:>7}  {:>8}  {:>13}  {:>9}  {:>6}\n", log.name, width, share(times.data_s),
        share(times.forward_s), share(times.backward_s), share(times.communication_s),
        share(times.optimizer_s), share(times.total_s - times.parts_s())
    );
}

/// What the picture does not show.
std::string remarks(const TrainingLog& log) {
    std::string text;
    if (log.synthetic.value_or(false)) {
        text += log.name + ": synthetic pictures, not real ones\n";
    }
    if (log.cut_line > 0) {
        text += fmt::format(
            "{}: line {} is cut off, as in a run that still writes or was killed; drawn without "
            "it\n",
            log.name, log.cut_line
        );
    }
    const auto no_number = [](const Step& step) { return !std::isfinite(step.loss); };
    const auto first = std::ranges::find_if(log.steps, no_number);
    if (first != log.steps.end()) {
        text += fmt::format(
            "{}: the loss is no number (NaN or infinite) in {} of {} steps, in step {} first\n",
            log.name, std::ranges::count_if(log.steps, no_number), log.steps.size(), first->step
        );
    }
    return text;
}

}  // namespace

std::string training_table(const std::vector<TrainingLog>& logs) {
    std::size_t width = 3;
    for (const TrainingLog& log : logs) {
        width = std::max(width, log.name.size());
    }
    std::string results_of_all = fmt::format(
        "{:{}}   steps  epochs  last test  best test  {:>10}  minutes\n", "run", width,
        seen_by(logs.front()) + "/s"
    );
    std::string shares_of_all = fmt::format(
        "\n{:{}}    data  forward  backward  communication  optimizer    rest   of rank 0's time\n",
        "run", width
    );
    std::string remarks_on_all;
    for (const TrainingLog& log : logs) {
        results_of_all += results(log, width);
        shares_of_all += shares(log, width);
        remarks_on_all += remarks(log);
    }
    return results_of_all + shares_of_all + (remarks_on_all.empty() ? "" : "\n" + remarks_on_all);
}

}  // namespace dist::plots
