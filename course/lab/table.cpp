#include <fmt/format.h>

#include "course/lab/report.hpp"

namespace dist::lab {
namespace {

constexpr double kMicro = 1e6;
constexpr const char* kLine =
    "{:>12} {:>11} {:>6} {:>6} {:>9} {:>11} {:>11} {:>11} {:>7} {:>7} {:>7} {:>13} {:>8} {:>8} "
    "{:>11} {:>5}\n";

std::string or_dash(std::optional<double> value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string cores_in_words(const Machine& machine) {
    if (machine.oversubscribed()) {
        return "more ranks than cores: context switches are everywhere, so all iterations are kept";
    }
    return machine.bound ? "each rank bound to one core" : "ranks not bound to cores";
}

std::string header(const Report& report) {
    const Machine& machine = report.machine;
    std::string text = fmt::format(
        "# {} of float32, in place; {} ranks on {} node(s), {} cores a node; {}\n"
        "# {}; {}; settings: {}; load {:.1f} at the start; seed {}\n",
        report.collective.name, machine.ranks, machine.nodes, machine.cores,
        cores_in_words(machine), machine.cpu, machine.mpi, machine.mpi_settings, machine.load,
        report.seed
    );
    text +=
        "# method: algorithms in turn, in a new order each round; input rewritten and ranks "
        "aligned "
        "before each call;\n"
        "#   time = maximum over ranks, median (min, p95) over clean iterations: no rank lost its "
        "core (over all, where\n"
        "#   an algorithm has fewer than 5 clean ones);\n"
        "#   every result is checked; vs naive, vs mpi: their time over this one, above 1 is "
        "faster; GB/s = 10^9 bytes/s\n";
    if (report.bound.p > 1) {
        text += fmt::format(
            "# bound: ceil(log2 p) exchanges between neighbours of {:.2f} us each, or {:.2f} * "
            "size at "
            "the best rate of\n"
            "#   exchanges of size/p bytes or more, both probed in this run; eff = bound / time. "
            "Code "
            "that sends no messages can beat it.\n",
            report.bound.alpha_s * kMicro, report.bound.bus_factor
        );
    }
    for (const Algorithm& algorithm : report.algorithms) {
        text += fmt::format("# {}: {}\n", algorithm.name, algorithm.what);
    }
    for (const std::string& note : report.notes) {
        text += fmt::format("# {}\n", note);
    }
    return text;
}

std::string footer(const Report& report) {
    std::string text = "# fit of time = alpha + size / beta, by least relative squares:\n";
    for (const auto& [algorithm, line] : fits(report)) {
        if (line) {
            text += fmt::format(
                "#   {:<8} alpha {:>10.2f} us, beta {:>8.2f} GB/s, R2 {:.3f}\n", algorithm,
                line->alpha_s * kMicro, line->beta_bytes_per_s / 1e9, line->r2
            );
        } else {
            text += fmt::format(
                "#   {:<8} no line: it takes two sizes, and time that grows, but no faster than "
                "size\n",
                algorithm
            );
        }
    }
    return text;
}

}  // namespace

std::string to_table(const Report& report) {
    std::string text = header(report);
    text += fmt::format(
        fmt::runtime(kLine), "size(B)", "count", "type", "redop", "algorithm", "time(us)", "min",
        "p95", "algbw", "busbw", "#wrong", "clean/run", "vs naive", "vs mpi", "bound(us)", "eff"
    );
    for (const Row& row : rows(report)) {
        const Point& point = row.point;
        text += fmt::format(
            fmt::runtime(kLine), point.size_bytes, point.size_bytes / sizeof(float), "float",
            report.collective.redop, point.algorithm,
            fmt::format("{:.2f}", point.median_s * kMicro),
            fmt::format("{:.2f}", point.min_s * kMicro),
            fmt::format("{:.2f}", point.p95_s * kMicro), fmt::format("{:.2f}", row.algbw_gbs),
            fmt::format("{:.2f}", row.busbw_gbs), point.wrong,
            fmt::format("{}/{}", point.clean, point.run), or_dash(row.vs_naive, "{:.2f}"),
            or_dash(row.vs_mpi, "{:.2f}"), fmt::format("{:.2f}", row.bound_s * kMicro),
            row.efficiency ? fmt::format("{:.0f}%", *row.efficiency * 100) : "-"
        );
    }
    return text + footer(report);
}

std::string to_csv(const Report& report) {
    std::string text =
        "size_bytes,count,type,redop,algorithm,time_us,min_us,p95_us,algbw_gbs,busbw_gbs,wrong,"
        "clean,run,vs_naive,vs_mpi,bound_us,efficiency\n";
    const auto cell = [](std::optional<double> value) {
        return value ? fmt::format("{:.4f}", *value) : std::string();
    };
    for (const Row& row : rows(report)) {
        const Point& point = row.point;
        text += fmt::format(
            "{},{},float,{},{},{:.3f},{:.3f},{:.3f},{:.4f},{:.4f},{},{},{},{},{},{:.3f},{}\n",
            point.size_bytes, point.size_bytes / sizeof(float), report.collective.redop,
            point.algorithm, point.median_s * kMicro, point.min_s * kMicro, point.p95_s * kMicro,
            row.algbw_gbs, row.busbw_gbs, point.wrong, point.clean, point.run, cell(row.vs_naive),
            cell(row.vs_mpi), row.bound_s * kMicro, cell(row.efficiency)
        );
    }
    return text;
}

}  // namespace dist::lab
