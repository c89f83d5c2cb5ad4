#include "course/simulate/trained_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <span>

#include "course/plots/gnuplot.hpp"
#include "course/protocol/counted.hpp"
#include "course/simulate/simulated_text.hpp"
#include "course/simulate/step_limits.hpp"

namespace dist::cli {
namespace {

bool has_servers(const TrainingSimulation& wanted) {
    return std::ranges::find(wanted.ways, trainer::Parallel::ps) != wanted.ways.end();
}

std::string percent_of(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

/// Of the ranks; 0 but for ps.
int servers_of(const TrainedStep& step) {
    return step.way == trainer::Parallel::ps ? step.servers : 0;
}

double images_per_s_alone(const Training& training) {
    return static_cast<double>(training.batch) / training.work.step_s();
}

/// "1, 4 or 16"
std::string one_of(const std::vector<int>& numbers) {
    const auto all_but_last = std::span(numbers).first(numbers.size() - 1);
    return fmt::format(
        "{}{}{}", fmt::join(all_but_last, ", "), all_but_last.empty() ? "" : " or ", numbers.back()
    );
}

std::string head_of(const TrainingSimulation& wanted) {
    const auto& [model, work, batch, bucket_cap_mb, one_server, staleness] = wanted.training;
    constexpr double kMillion = 1e6;
    std::string text = fmt::format(
        "# training {}, {:.1f} million parameters, simulated: {}\n"
        "# one rank alone: data {}, forward {}, backward {}, optimizer {} a step of {} pictures: "
        "{:.0f} images/s\n",
        model.name, static_cast<double>(model.floats()) / kMillion, place_of(wanted.cluster),
        in_seconds(work.data_s), in_seconds(work.forward_s), in_seconds(work.backward_s),
        in_seconds(work.optimizer_s), batch, images_per_s_alone(wanted.training)
    );
    if (has_servers(wanted)) {
        text += fmt::format(
            "# ps: {} of the ranks {}, weights up to {} old\n", one_of(wanted.servers),
            wanted.servers.back() == 1 ? "is a server" : "are servers",
            harness::counted(staleness, "step")
        );
    }
    return text;
}

using TrainedCells = std::array<std::string, 8>;

/// A line of the table; where it would not fit into a window, without the time of messages, which is hidden and exposed together.
std::string trained_line(const TrainedCells& cells, std::size_t columns) {
    constexpr std::size_t kWhole = 92;
    const auto& [ranks, way, step, messages, hidden, exposed, images, efficiency] = cells;
    return columns >= kWhole ? fmt::format(
                                   "{:>6} {:<10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", ranks,
                                   way, step, messages, hidden, exposed, images, efficiency
                               )
                             : fmt::format(
                                   "{:>6} {:<8} {:>10} {:>10} {:>10} {:>10} {:>10}", ranks, way,
                                   step, hidden, exposed, images, efficiency
                               );
}

TrainedCells trained_cells(const TrainedStep& step, const TrainingSimulation& wanted) {
    return {
        std::to_string(step.ranks),
        name_of(step.way, step.servers, wanted),
        in_seconds(step.time.step_s),
        in_seconds(step.time.communication_s),
        in_seconds(step.time.hidden_s()),
        in_seconds(step.time.exposed_s),
        fmt::format("{:.0f}", step.images_per_s),
        percent_of(step.efficiency)};
}

/// "ps, 8 servers".
std::string legend_of(const TrainedWay& line, const TrainingSimulation& wanted) {
    const std::string name(trainer::way_of(line.way).name);
    return name == name_of(line.way, line.servers, wanted)
               ? name
               : fmt::format("{}, {} server{}", name, line.servers, line.servers == 1 ? "" : "s");
}

/// A panel over the number of ranks: a line for each way, from the same block of data.
std::string panel_of(
    const TrainingSimulation& wanted, const std::string& title, int column, const std::string& more
) {
    std::string curves;
    const std::vector<TrainedWay> lines = lines_of(wanted);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto style = plots::kStyles[(i + 1) % plots::kStyles.size()];
        curves += fmt::format(
            "{}$way{} using 1:{} with linespoints lw 2 pt {} ps 0.8 lc rgb '{}' title {}",
            i == 0 ? "" : ", \\\n  ", i, column, style.mark, style.colour,
            plots::quoted(legend_of(lines[i], wanted))
        );
    }
    return fmt::format("set title {}\n{}plot {}\n", plots::quoted(title), more, curves);
}

}  // namespace

std::string name_of(trainer::Parallel way, int servers, const TrainingSimulation& wanted) {
    const std::string name(trainer::way_of(way).name);
    const bool one_of_several = way == trainer::Parallel::ps && wanted.servers.size() > 1;
    return one_of_several ? fmt::format("{} {}", name, servers) : name;
}

std::string table_of(
    const Trained& trained, const TrainingSimulation& wanted, std::size_t columns
) {
    std::string text = head_of(wanted);
    text += trained_line(
                {"# ranks", "parallel", "step", "messages", "hidden", "exposed", "images/s",
                 "efficiency"},
                columns
            ) +
            "\n";
    for (const TrainedStep& step : trained.steps) {
        const bool fastest = std::ranges::none_of(trained.steps, [&](const TrainedStep& other) {
            return other.ranks == step.ranks && other.time.step_s < step.time.step_s;
        });
        text += trained_line(trained_cells(step, wanted), columns) +
                (fastest && lines_of(wanted).size() > 1 ? "  fastest\n" : "\n");
    }
    if (has_servers(wanted)) {
        text += limits_table(trained, wanted);
    }
    for (const std::string& note : trained.notes) {
        text += fmt::format("# {}\n", note);
    }
    return text;
}

std::string csv_of(const Trained& trained) {
    std::string text =
        "parallel,ranks,step_s,communication_s,hidden_s,exposed_s,images_per_s,efficiency,"
        "servers\n";
    for (const TrainedStep& step : trained.steps) {
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{}\n", trainer::way_of(step.way).name, step.ranks,
            step.time.step_s, step.time.communication_s, step.time.hidden_s(), step.time.exposed_s,
            step.images_per_s, step.efficiency, servers_of(step)
        );
    }
    return text;
}

std::string json_of(const Trained& trained, const TrainingSimulation& wanted) {
    const Training& training = wanted.training;
    nlohmann::json document = {
        {"model", training.model.name},
        {"parameters", training.model.floats()},
        {"batch", training.batch},
        {"bucket_cap_mb", training.bucket_cap_mb},
        {"staleness", training.staleness},
        {"measured",
         {{"data_s", training.work.data_s},
          {"forward_s", training.work.forward_s},
          {"backward_s", training.work.backward_s},
          {"optimizer_s", training.work.optimizer_s},
          {"images_per_s", images_per_s_alone(training)}}},
        {"cluster", document_of(wanted.cluster)},
        {"steps", nlohmann::json::array()},
        {"notes", trained.notes}};
    for (const TrainedStep& step : trained.steps) {
        const StepLimits limits = limits_of(step, training);
        document["steps"].push_back({
            {"parallel", trainer::way_of(step.way).name},
            {"name", name_of(step.way, step.servers, wanted)},
            {"ranks", step.ranks},
            {"servers", servers_of(step)},
            {"step_s", step.time.step_s},
            {"communication_s", step.time.communication_s},
            {"hidden_s", step.time.hidden_s()},
            {"exposed_s", step.time.exposed_s},
            {"images_per_s", step.images_per_s},
            {"efficiency", step.efficiency},
            {"worker_bytes", limits.worker.bytes},
            {"worker_card_s", limits.worker.seconds},
            {"server_bytes", limits.server.bytes},
            {"server_card_s", limits.server.seconds},
            {"limit", limits.longest()},
        });
    }
    return document.dump() + "\n";
}

std::string title_of(const TrainingSimulation& wanted) {
    return fmt::format(
        "{}, {} pictures a rank, simulated: {}", wanted.training.model.name, wanted.training.batch,
        place_of(wanted.cluster)
    );
}

std::string picture_of(const Trained& trained, const TrainingSimulation& wanted) {
    std::string data;
    const std::vector<TrainedWay> lines = lines_of(wanted);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        data += fmt::format("$way{} << EOD\n", i);
        for (const TrainedStep& step : trained.steps) {
            if (step.way == lines[i].way && step.servers == lines[i].servers) {
                data +=
                    fmt::format("{} {} {}\n", step.ranks, step.images_per_s, 100 * step.efficiency);
            }
        }
        data += "EOD\n";
    }
    const std::string alone = fmt::format(
        "set logscale y 10\nset key top left\nset format y '%.0s %c'\n"
        "set label 'dotted: without messages' at graph 0.97, graph 0.05 right textcolor rgb "
        "'#606060'\n"
        "set arrow from {0},{1} to {2},{3} nohead dt 3 lc rgb '#808080'\n",
        wanted.ranks.front(), wanted.ranks.front() * images_per_s_alone(wanted.training),
        wanted.ranks.back(), wanted.ranks.back() * images_per_s_alone(wanted.training)
    );
    const std::string share =
        "unset logscale y\nunset arrow\nunset label\nunset key\nset format y '%.0f %%'\n"
        "set yrange [0:105]\n";
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 1240,560 noenhanced font 'sans-serif,13' background 'white'\n{}"
        "set multiplot layout 1,2 title {}\n"
        "set logscale x 2\nset grid\nset xlabel 'ranks'\nset xrange [{}:{}]\n{}{}unset multiplot\n",
        data, plots::quoted(title_of(wanted)), wanted.ranks.front() / 1.3,
        wanted.ranks.back() * 1.3, panel_of(wanted, "images a second, over all ranks", 2, alone),
        panel_of(wanted, "efficiency: a rank's images over those that it does alone", 3, share)
    );
}

}  // namespace dist::cli
