#include "course/cli/simulate_goodput.hpp"

#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include "course/files/atomic_file.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/report/fold.hpp"
#include "course/simulate/cluster.hpp"
#include "course/simulate/goodput_text.hpp"

namespace dist::cli {
namespace {

constexpr int kMostFailingRanks = 1'000'000;
constexpr int kFewestFailures = 100;
constexpr int kMostFailures = 10'000'000;

double some_time(const std::string& option, const std::string& text) {
    const double seconds = parse_duration(option, text);
    if (seconds <= 0) {
        throw UsageError(fmt::format("{}: \"{}\" is no time: it has to be above 0", option, text));
    }
    return seconds;
}

/// Ascending, each once.
template <class Parse>
std::vector<double> times_between_commas(
    const std::string& option, const std::string& text, const Parse& parse
) {
    std::set<double> times;
    for (const std::string& word : between_commas(text)) {
        times.insert(parse(option, word));
    }
    if (times.empty()) {
        throw UsageError(option + " names none");
    }
    return {times.begin(), times.end()};
}

int ranks_that_fail(const Command& train, const std::string& text) {
    if (!train.given("--ranks")) {
        throw UsageError("simulate train: how many ranks has the job that fails? Give --ranks");
    }
    const std::vector<int> ranks = ranks_between_commas(text, 2, kMostFailingRanks);
    if (ranks.size() > 1) {
        throw UsageError("--ranks " + text + ": with --mtbf give one number of ranks");
    }
    return ranks.front();
}

double mtbf_of_job_s(const GoodputArguments& arguments, int ranks) {
    if (arguments.mtbf.empty()) {
        return some_time("--mtbf-of-rank", arguments.mtbf_of_rank) / ranks;
    }
    if (!arguments.mtbf_of_rank.empty()) {
        throw UsageError("--mtbf is the job's, --mtbf-of-rank that of each rank: give one of them");
    }
    return some_time("--mtbf", arguments.mtbf);
}

GoodputWanted wanted_of(
    const Command& train, const GoodputArguments& arguments, const TrainOutputs& shared
) {
    GoodputWanted wanted;
    FailingJob& job = wanted.job;
    job.ranks = ranks_that_fail(train, shared.cluster.ranks);
    job.replicas = arguments.replicas == 0 ? job.ranks : arguments.replicas;
    if (job.ranks % job.replicas != 0) {
        throw UsageError(
            fmt::format("--replicas {} does not divide --ranks {}", job.replicas, job.ranks)
        );
    }
    job.mtbf_s = mtbf_of_job_s(arguments, job.ranks);
    job.checkpoint_s = some_time("--checkpoint-seconds", arguments.checkpoint);
    job.step_s = some_time("--step-seconds", arguments.step);
    wanted.restarts_s =
        times_between_commas("--restart-seconds", arguments.restarts, parse_duration);
    if (wanted.restarts_s.size() > 1 && !shared.svg.empty()) {
        throw UsageError("--svg draws one restart time: give one --restart-seconds");
    }
    if (!arguments.intervals.empty()) {
        wanted.intervals_s = times_between_commas("--intervals", arguments.intervals, some_time);
    }
    wanted.failures = static_cast<std::size_t>(arguments.failures);
    wanted.seed = arguments.seed;
    return wanted;
}

}  // namespace

const char* const kGoodputHelp =
    "\n\n"
    "--mtbf says how often one of the ranks fails. Then simulate train plays failures,\n"
    "drawn from --seed, and says what share of the time is useful training (goodput):\n"
    "  restart      all ranks stop, start anew for --restart-seconds and go on from the\n"
    "               last checkpoint, for which training stands still for\n"
    "               --checkpoint-seconds. Failures come meanwhile, too.\n"
    "  quorum_step  the step under way is void, and the replica that failed is away for\n"
    "               --restart-seconds. The others go on, with fewer examples a step.\n"
    "Young's and Daly's formulas for the best interval between checkpoints stand beside\n"
    "it. Failures come at a rate that does not change, and one at a time; on real\n"
    "clusters some take a whole node or more.\n"
    "  ./shardlings simulate train --mtbf 3.1h --checkpoint-seconds 60 \\\n"
    "      --restart-seconds 300 --ranks 16384 --svg goodput.svg\n"
    "  ./shardlings simulate train --mtbf-of-rank 2000d --ranks 16384 --replicas 128 \\\n"
    "      --intervals 5m,20m,1h --restart-seconds 1m,5m,15m";

void add_goodput_options(Command& train, GoodputArguments& arguments) {
    const std::string group = "Of --mtbf";
    const auto text = [&](const char* name, std::string& to, const char* what) {
        return train.add_option(name, to, what).group(group);
    };
    text("--mtbf", arguments.mtbf, "Mean time between two failures of the job: 3.1h");
    text("--mtbf-of-rank", arguments.mtbf_of_rank, "The same of each rank: 2000d");
    text("--checkpoint-seconds", arguments.checkpoint, "Time for which training stands still")
        .capture_default_str();
    text(
        "--restart-seconds", arguments.restarts,
        "From a failure until training goes on, or the replacement is there; several make a table"
    )
        .capture_default_str();
    text("--intervals", arguments.intervals, "Between checkpoints: 5m,20m,1h");
    text("--step-seconds", arguments.step, "Time of a step").capture_default_str();
    train
        .add_option(
            "--replicas", arguments.replicas,
            "Groups of ranks that each hold the whole model; else each rank does"
        )
        .between(2, kMostFailingRanks)
        .group(group);
    train.add_option("--failures", arguments.failures, "How many are drawn")
        .between(kFewestFailures, kMostFailures)
        .capture_default_str()
        .group(group);
    train.add_option("--seed", arguments.seed, "They are drawn from it")
        .capture_default_str()
        .group(group);
}

void simulate_goodput(
    Context& context,
    const Command& train,
    const GoodputArguments& arguments,
    const TrainOutputs& shared
) {
    const GoodputWanted wanted = wanted_of(train, arguments, shared);
    check_outputs(context, shared.csv, shared.svg);
    const GoodputSurvey survey = survey_goodput(wanted);
    if (context.json) {
        fmt::print("{}", json_of(survey, wanted));
    } else {
        print_folded(table_of(survey, wanted));
    }
    if (!shared.csv.empty()) {
        files::write_atomically(shared.csv, csv_of(survey));
    }
    if (!shared.svg.empty()) {
        plots::draw(shared.svg, picture_of(survey, wanted));
    }
}

}  // namespace dist::cli
