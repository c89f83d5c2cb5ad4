#include "course/prove/explore.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>

#include "course/launch/run_folder.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/prove/simulated_tests.hpp"
#include "course/runtime/clock.hpp"
#include "course/simulate/cluster.hpp"

namespace dist::cli {
namespace {

constexpr int kMostSteps =
    8000;  // of one order of messages; simgrid-mc goes down into each, on its stack
constexpr const char* kNoReduction = "none";

/// The number in front of these words, the last time they were said; 0 if never.
long number_before(const std::string& words, const std::string& output) {
    const std::size_t at = output.rfind(words);
    if (at == std::string::npos) {
        return 0;
    }
    std::size_t begin = at;
    while (begin > 0 && output[begin - 1] >= '0' && output[begin - 1] <= '9') {
        --begin;
    }
    return std::atol(output.c_str() + begin);
}

/// The path in "--cfg=model-check/replay:'1;3;1'".
std::string path_in(const std::string& output) {
    const std::string words = "model-check/replay:";
    const std::size_t at = output.find(words);
    if (at == std::string::npos) {
        return "";
    }
    const std::size_t begin = output.find_first_of("0123456789", at + words.size());
    const std::size_t end = output.find_first_not_of("0123456789;/", begin);
    return output.substr(begin, end - begin);
}

}  // namespace

Exploration read_exploration(const std::string& output, int status) {
    const auto has = [&](const char* words) { return output.find(words) != std::string::npos; };
    Exploration found;
    found.states = number_before(" unique states visited", output);
    found.path = path_in(output);
    if (has("DEADLOCK DETECTED")) {
        found.end = Exploration::End::hangs;
    } else if (has("PROPERTY NOT VALID")) {
        found.end = Exploration::End::wrong;
    } else if (has("CRASH IN THE PROGRAM")) {
        found.end = Exploration::End::crashes;
    } else if (has("Max depth")) {
        found.why = fmt::format(
            "one order of messages has more than {} steps: does a loop ask for a message again "
            "and again?",
            kMostSteps
        );
    } else if (has("/ERROR]") || has("/CRITICAL]")) {
        // a checker that complains has proved nothing
    } else if (status == 0 && (has("exploration ended") || has("did not do any transition"))) {
        found.end = Exploration::End::right;
        if (has(simulation::kFromAnyoneMark)) {
            found.why =
                "a rank receives from any rank. MPI may deliver messages of different ranks in any "
                "order; SimGrid delivers them only in the order in which they were sent";
        }
    }
    return found;
}

bool needs_all_orders(const std::string& output) {
    return output.find(simulation::kQuestionMark) != std::string::npos;
}

namespace {

/// With one of SimGrid's ways to leave out orders that come to the same; none where it gives no verdict, or none that holds.
std::optional<Exploration> explored_by(
    const std::string& reduction,
    Context& context,
    const std::filesystem::path& module,
    int ranks,
    const simulation::TestOrder& order,
    const Bounds& bounds,
    const std::function<void(long states)>& progress,
    std::string& complaint
) {
    const RunFolder folder(context, false);
    std::vector<std::string> line = on_cluster(
        {}, ranks, folder.path(),
        {kNoBuffers, fmt::format("model-check/max-depth:{}", kMostSteps),
         "model-check/search-critical:no", "model-check/reduction:" + reduction},
        "info"
    );
    line.insert(line.end(), {module.string(), write_order(order, folder.path()).string()});
    line.insert(line.begin() + 1, {"-wrapper", "simgrid-mc", "--log=xbt_cfg.threshold:error"});
    long states = 0;
    RunOptions options;
    options.environment = {{"LC_ALL", "C"}};
    options.folder = folder.path();
    options.time_limit_s = std::max(bounds.seconds, 0.1);
    options.watch = [&](const std::string& output, double /*seconds*/) {
        states = number_before(" unique states visited", output);
        progress(states);
    };
    options.over = [&] { return states > bounds.states; };
    const Ended ended = run(context, line, options);
    Exploration found = read_exploration(ended.output, ended.status);
    if (found.end == Exploration::End::right && reduction != kNoReduction &&
        needs_all_orders(ended.output)) {
        return std::nullopt;
    }
    if (found.end == Exploration::End::cut_short && found.why.empty()) {
        if (ended.timed_out) {
            found.why = "it reached the time limit (--time-limit)";
        } else if (ended.called_off) {
            found.why = "it reached the limit of states (--states)";
        } else {
            complaint = first_complaint(ended.output);
            return std::nullopt;
        }
    }
    return found;
}

}  // namespace

Exploration explore(
    Context& context,
    const std::filesystem::path& module,
    int ranks,
    const simulation::TestOrder& order,
    const Bounds& bounds,
    const std::function<void(long states)>& progress
) {
    const Stopwatch watch;
    std::string complaint;
    // the first goes through the fewest, and loses its way in a few programs (SimGrid 4.0); the second does not. Both take a
    // question whether a message has come for one that its sender has no part in
    for (const char* const reduction : {"odpor", "dpor", kNoReduction}) {
        const Bounds left{bounds.states, bounds.seconds - watch.elapsed_s()};
        if (auto found =
                explored_by(reduction, context, module, ranks, order, left, progress, complaint)) {
            found->seconds = watch.elapsed_s();
            return *found;
        }
    }
    throw CommandError(exit_status::kOurs, "simgrid-mc gave no verdict: " + complaint);
}

}  // namespace dist::cli
