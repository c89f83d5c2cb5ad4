#include "course/simulate/step_limits.hpp"

#include <fmt/format.h>

#include "course/simulate/simulated_text.hpp"
#include "course/simulate/trained_text.hpp"

namespace dist::cli {

const char* StepLimits::longest() const {
    if (server.seconds > worker.seconds && server.seconds > compute_s) {
        return "server's card";
    }
    return worker.seconds > compute_s ? "worker's card" : "compute";
}

StepLimits limits_of(const TrainedStep& step, const Training& training) {
    const auto n_bytes = static_cast<double>(training.model.floats() * sizeof(float));
    StepLimits limits;
    limits.compute_s = step.time.step_s - step.time.exposed_s;
    if (step.way == trainer::Parallel::ps) {
        const double workers = step.ranks - step.servers;
        limits.server = {2 * workers * n_bytes / step.servers, step.time.weights_s};
        limits.worker = {2 * n_bytes, step.time.weights_s * step.servers / workers};
    } else {
        constexpr double kZero3 = 1.5;  // weights come twice
        const double times = step.way == trainer::Parallel::zero3 ? kZero3 : 1;
        limits.worker = {times * 4 * n_bytes * (step.ranks - 1) / step.ranks, step.time.weights_s};
    }
    return limits;
}

std::string limits_table(const Trained& trained, const TrainingSimulation& wanted) {
    std::string text =
        "# what goes through a card in a step, in and out, and how long that takes; the longest is "
        "the limit\n" +
        fmt::format(
            "{:>7} {:<10} {:>9}  {:>19}  {:>19}  {}\n", "# ranks", "parallel", "compute",
            "worker's card", "server's card", "limit"
        );
    for (const TrainedStep& step : trained.steps) {
        const StepLimits limits = limits_of(step, wanted.training);
        const auto& [bytes, seconds] = limits.server;
        const bool has_server = step.way == trainer::Parallel::ps;
        text += fmt::format(
            "{:>7} {:<10} {:>9}  {:>8} {:>10}  {:>8} {:>10}  {}\n", step.ranks,
            name_of(step.way, step.servers, wanted), in_seconds(limits.compute_s),
            in_bytes(limits.worker.bytes), in_seconds(limits.worker.seconds),
            has_server ? in_bytes(bytes) : "-", has_server ? in_seconds(seconds) : "-",
            limits.longest()
        );
    }
    return text;
}

}  // namespace dist::cli
