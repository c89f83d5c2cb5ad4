#include "course/simulate/goodput_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dist::cli {
namespace {

constexpr double kGood = 0.9;  // what Llama 3 reports

std::string in_percent(double share, int decimals = 1) {
    return fmt::format("{:.{}f}", 100 * share, decimals);
}

/// A job with quorum_step is near 100 %.
std::string quorum_in_percent(double share) {
    return in_percent(share, 2);
}

std::string head_of(const GoodputWanted& wanted) {
    const FailingJob& job = wanted.job;
    const bool several = wanted.restarts_s.size() > 1;
    const std::string after =
        several ? "a column's time" : duration_in_words(wanted.restarts_s.front());
    return fmt::format(
        "# goodput in %: {} ranks train, and one fails every {}; {} failures, seed {}\n"
        "# restart: all stop, and after {} go on from the last checkpoint; one takes {}\n"
        "# quorum_step: one of {} replicas is away for {}, and a step of {} is void\n",
        job.ranks, duration_in_words(job.mtbf_s), wanted.failures, wanted.seed, after,
        duration_in_words(job.checkpoint_s), job.replicas, after, duration_in_words(job.step_s)
    );
}

/// Of one restart time: beside the formulas.
std::string beside_formulas(const GoodputSurvey& survey) {
    std::string text =
        fmt::format("{:>10} {:>9} {:>7} {:>7}\n", "# interval", "simulated", "Daly", "Young");
    for (const GoodputPoint& point : survey.intervals) {
        text += fmt::format(
            "{:>10} {:>9} {:>7} {:>7}\n", duration_in_words(point.interval_s),
            in_percent(point.restart), in_percent(point.daly), in_percent(point.young)
        );
    }
    return text;
}

/// Of several: a column each.
std::string by_restart_time(const GoodputSurvey& survey, const GoodputWanted& wanted) {
    const auto cell = [](double goodput, const std::string& percent) {
        return fmt::format("{:>8}", (goodput > kGood ? "*" : "") + percent);
    };
    const std::size_t rows = survey.intervals.size() / wanted.restarts_s.size();
    std::string text = "# restart in";
    for (const double restart_s : wanted.restarts_s) {
        text += fmt::format("{:>8}", duration_in_words(restart_s));
    }
    for (std::size_t row = 0; row < rows; ++row) {
        text += fmt::format("\n{:>12}", duration_in_words(survey.intervals[row].interval_s));
        for (std::size_t i = row; i < survey.intervals.size(); i += rows) {
            const double goodput = survey.intervals[i].restart;
            text += cell(goodput, in_percent(goodput));
        }
    }
    text += fmt::format("\n{:>12}", "quorum_step");
    for (std::size_t i = 0; i < survey.intervals.size(); i += rows) {
        const double goodput = survey.intervals[i].quorum;
        text += cell(goodput, quorum_in_percent(goodput));
    }
    return text +
           fmt::format("\n# rows: interval between checkpoints; *: above {:.0f} %\n", 100 * kGood);
}

std::string line_over_ranks(const GoodputPoint& point) {
    const bool quorum = point.job.replicas > 0;
    return fmt::format(
        "{:>8} {:>12} {:>9} {:>9} {:>7} {:>12} {:>8}\n", point.job.ranks,
        duration_in_words(point.job.mtbf_s), duration_in_words(point.interval_s),
        in_percent(point.restart), in_percent(point.daly),
        quorum ? quorum_in_percent(point.quorum) : "-",
        quorum ? quorum_in_percent(point.quorum_formula) : "-"
    );
}

nlohmann::json document_of(const GoodputPoint& point) {
    nlohmann::json document = {
        {"ranks", point.job.ranks},
        {"replicas", point.job.replicas},
        {"mtbf_s", point.job.mtbf_s},
        {"restart_s", point.job.restart_s},
        {"interval_s", point.interval_s},
        {"restart_goodput", point.restart},
        {"daly", point.daly},
        {"young", point.young},
        {"quorum_goodput", point.quorum},
        {"quorum_formula", point.quorum_formula}};
    if (point.job.replicas == 0) {
        document["quorum_goodput"] = document["quorum_formula"] = nullptr;
    }
    return document;
}

}  // namespace

std::string duration_in_words(double seconds) {
    struct DurationUnit {
        double seconds;
        const char* name;
    };
    constexpr std::array kUnits = {
        DurationUnit{86400, "d"}, DurationUnit{3600, "h"}, DurationUnit{60, "m"},
        DurationUnit{1, "s"}};
    const auto* const unit =
        std::ranges::find_if(kUnits, [&](const auto& known) { return seconds >= known.seconds; });
    const auto& [unit_s, name] = unit == kUnits.end() ? kUnits.back() : *unit;
    const double number = seconds / unit_s;
    return number < 100 ? fmt::format("{:.3g}{}", number, name)
                        : fmt::format("{:.0f}{}", number, name);
}

std::string table_of(const GoodputSurvey& survey, const GoodputWanted& wanted) {
    const std::string best = fmt::format(
        "# best interval: {} by Young, {} by Daly, {} as simulated\n",
        duration_in_words(young_interval_s(wanted.job)),
        duration_in_words(daly_interval_s(wanted.job)), duration_in_words(survey.best_s)
    );
    if (wanted.restarts_s.size() > 1) {
        return head_of(wanted) + by_restart_time(survey, wanted) + best;
    }
    std::string text = head_of(wanted) + beside_formulas(survey) + best;
    text += fmt::format(
        "# on other numbers of ranks, of which each fails as often, at Daly's interval:\n"
        "{:>8} {:>12} {:>9} {:>9} {:>7} {:>12} {:>8}\n",
        "#  ranks", "fails every", "interval", "simulated", "Daly", "quorum_step", "formula"
    );
    for (const GoodputPoint& point : survey.over_ranks) {
        text += line_over_ranks(point);
    }
    return text;
}

std::string csv_of(const GoodputSurvey& survey) {
    std::string text =
        "ranks,replicas,mtbf_s,restart_s,interval_s,restart_goodput,daly,young,quorum_goodput,"
        "quorum_formula\n";
    for (const auto* const points : {&survey.intervals, &survey.over_ranks}) {
        for (const auto& [job, interval_s, restart, daly, young, quorum, formula] : *points) {
            text += fmt::format(
                "{},{},{},{},{},{},{},{},", job.ranks, job.replicas, job.mtbf_s, job.restart_s,
                interval_s, restart, daly, young
            );
            text += job.replicas > 0 ? fmt::format("{},{}\n", quorum, formula) : ",\n";
        }
    }
    return text;
}

std::string json_of(const GoodputSurvey& survey, const GoodputWanted& wanted) {
    const FailingJob& job = wanted.job;
    nlohmann::json document = {
        {"ranks", job.ranks},
        {"replicas", job.replicas},
        {"mtbf_s", job.mtbf_s},
        {"checkpoint_s", job.checkpoint_s},
        {"step_s", job.step_s},
        {"failures", wanted.failures},
        {"seed", wanted.seed},
        {"young_s", young_interval_s(job)},
        {"daly_s", daly_interval_s(job)},
        {"simulated_s", survey.best_s},
        {"intervals", nlohmann::json::array()},
        {"over_ranks", nlohmann::json::array()}};
    for (const GoodputPoint& point : survey.intervals) {
        document["intervals"].push_back(document_of(point));
    }
    for (const GoodputPoint& point : survey.over_ranks) {
        document["over_ranks"].push_back(document_of(point));
    }
    return document.dump() + "\n";
}

}  // namespace dist::cli
