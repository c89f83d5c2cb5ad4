// Goodput over the interval and over the number of ranks, drawn by gnuplot.
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "course/plots/gnuplot.hpp"
#include "course/simulate/goodput_text.hpp"

namespace dist::cli {
namespace {

// of plots::kStyles
constexpr std::size_t kYoung = 1;
constexpr std::size_t kRestart = 2;
constexpr std::size_t kQuorum = 4;

/// A line by formula, or marks of a simulation, of a column of the data.
std::string goodput_curve(
    const std::string& data, int column, bool simulated, std::size_t colour, const std::string& name
) {
    const plots::Style style = plots::kStyles[colour];
    return fmt::format(
        "{} using 1:{} with {} lc rgb '{}' title {}", data, column,
        simulated ? fmt::format("points pt {} ps 0.6", style.mark) : "lines lw 2", style.colour,
        plots::quoted(name)
    );
}

std::string goodput_data(const std::string& name, const std::vector<GoodputPoint>& points) {
    std::string text = fmt::format("${} << EOD\n", name);
    for (const auto& [job, interval_s, restart, daly, young, quorum, formula] : points) {
        text += fmt::format(
            "{} {} {} {} {}", name == "ranks" ? job.ranks : interval_s, 100 * restart, 100 * daly,
            100 * young,
            job.replicas > 0 ? fmt::format("{} {}\n", 100 * quorum, 100 * formula) : "? ?\n"
        );
    }
    return text + "EOD\n";
}

/// Upright, where a formula's best interval is.
std::string best_line(double interval_s, std::size_t colour) {
    return fmt::format(
        "set arrow from {0}, graph 0 to {0}, graph 1 nohead dt 3 lc rgb '{1}'\n", interval_s,
        plots::kStyles[colour].colour
    );
}

std::string interval_panel(const GoodputSurvey& survey, const FailingJob& job) {
    std::vector<std::string> ticks;
    for (const double tick_s :
         {1., 5., 20., 60., 180., 600., 1800., 7200., 28800., 86400., 345600., 1728000.}) {
        ticks.push_back(fmt::format("'{}' {}", duration_in_words(tick_s), tick_s));
    }
    return fmt::format(
        "set title {}\nset xlabel 'interval between checkpoints'\nset xrange [{}:{}]\n"
        "set xtics ({})\nset key bottom center\n{}{}plot {}, \\\n  {}, \\\n  {}, \\\n  {}\n"
        "unset arrow\n",
        plots::quoted(fmt::format(
            "best interval: {} by Young, {} by Daly, {} as simulated",
            duration_in_words(young_interval_s(job)), duration_in_words(daly_interval_s(job)),
            duration_in_words(survey.best_s)
        )),
        survey.curve.front().interval_s, survey.curve.back().interval_s, fmt::join(ticks, ", "),
        best_line(young_interval_s(job), kYoung), best_line(daly_interval_s(job), kRestart),
        goodput_curve("$intervals", 4, false, kYoung, "restart, Young"),
        goodput_curve("$intervals", 3, false, kRestart, "restart, Daly"),
        goodput_curve("$intervals", 2, true, kRestart, "restart, simulated"),
        goodput_curve("$intervals", 6, false, kQuorum, "quorum_step, formula")
    );
}

std::string ranks_panel(const GoodputSurvey& survey) {
    const auto ranks = [](const GoodputPoint& point) { return point.job.ranks; };
    return fmt::format(
        "set title 'each rank fails as often; checkpoints at the interval of Daly'\n"
        "set xlabel 'ranks'\nset xrange [{}:{}]\nset xtics autofreq\nset logscale x 2\n"
        "set key bottom left\nplot {}, \\\n  {}, \\\n  {}, \\\n  {}\n",
        ranks(survey.over_ranks.front()), ranks(survey.over_ranks.back()),
        goodput_curve("$ranks", 3, false, kRestart, "restart, Daly"),
        goodput_curve("$ranks", 2, true, kRestart, "restart, simulated"),
        goodput_curve("$ranks", 6, false, kQuorum, "quorum_step, formula"),
        goodput_curve("$ranks", 5, true, kQuorum, "quorum_step, simulated")
    );
}

}  // namespace

std::string picture_of(const GoodputSurvey& survey, const GoodputWanted& wanted) {
    const FailingJob& job = wanted.job;
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 1240,560 noenhanced font 'sans-serif,13' background 'white'\n"
        "set datafile missing '?'\n{}{}"
        "set multiplot layout 1,2 title {}\n"
        "set logscale x\nset grid\nset yrange [0:105]\nset format y '%.0f %%'\n{}{}"
        "unset multiplot\n",
        goodput_data("intervals", survey.curve), goodput_data("ranks", survey.over_ranks),
        plots::quoted(fmt::format(
            "goodput on {} ranks in {} replicas: a failure every {}, a checkpoint takes {}, a "
            "restart {}",
            job.ranks, job.replicas, duration_in_words(job.mtbf_s),
            duration_in_words(job.checkpoint_s), duration_in_words(wanted.restarts_s.front())
        )),
        interval_panel(survey, job), ranks_panel(survey)
    );
}

}  // namespace dist::cli
