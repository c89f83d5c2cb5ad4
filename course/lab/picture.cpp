#include "course/lab/picture.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "course/lab/units.hpp"
#include "course/plots/gnuplot.hpp"

namespace dist::lab {
namespace {

/// The same in every picture of this collective, whatever else is measured.
plots::Style style_of(const Report& report, std::string_view name) {
    const std::vector<Algorithm> all = find_algorithms(report.collective, {});
    const auto found = std::ranges::find(all, name, &Algorithm::name);
    return plots::kStyles[static_cast<std::size_t>(found - all.begin()) % plots::kStyles.size()];
}

/// A data block of an algorithm: size, seconds, naive's time over it.
std::string block(std::string_view name, const std::vector<Row>& all) {
    std::string text = fmt::format("${} << EOD\n", name);
    for (const Row& row : all) {
        if (row.point.algorithm == name) {
            text += fmt::format(
                "{} {} {}\n", row.point.size_bytes, row.point.median_s, row.vs_naive.value_or(0.0)
            );
        }
    }
    return text + "EOD\n";
}

/// The bound by messages, or by memory alone, as a data block.
std::string bound_block(const char* name, const Report& report, Means means) {
    std::string text = fmt::format("${} << EOD\n", name);
    std::set<std::size_t> sizes;
    for (const Point& point : report.points) {
        sizes.insert(point.size_bytes);
    }
    for (const std::size_t size : sizes) {
        text += fmt::format("{} {}\n", size, report.bound.seconds(size, means));
    }
    return text + "EOD\n";
}

std::string curves(const Report& report, int column) {
    std::vector<std::string> all;
    for (const Algorithm& algorithm : report.algorithms) {
        const plots::Style style = style_of(report, algorithm.name);
        all.push_back(fmt::format(
            "${0} using 1:{1} with linespoints lw 2 pt {2} ps 0.8 lc rgb '{3}' title '{0}'",
            algorithm.name, column, style.mark, style.colour
        ));
    }
    return fmt::format("{}", fmt::join(all, ", \\\n  "));
}

std::string bounds(const Report& report) {
    if (report.bound.p == 1) {
        return "";
    }
    return ", \\\n  $messages with lines lw 2 dt 2 lc rgb '#808080' title 'least, by messages'"
           ", \\\n  $memory with lines lw 2 dt 3 lc rgb '#808080' title 'least, by memory'";
}

/// "'1 KiB' 1024, ...": a mark for every size.
std::string size_marks(const Report& report) {
    std::vector<std::string> marks;
    for (const Point& point : report.points) {
        if (point.algorithm == report.points.front().algorithm) {
            marks.push_back(fmt::format("'{}' {}", in_words(point.size_bytes), point.size_bytes));
        }
    }
    return fmt::format("{}", fmt::join(marks, ", "));
}

}  // namespace

std::string gnuplot_script(const Report& report) {
    const std::vector<Row> all = rows(report);
    const bool with_ratio =
        std::ranges::any_of(all, [](const Row& row) { return row.vs_naive.has_value(); });
    std::string text = fmt::format(
        "set encoding utf8\n"
        "set terminal svg size {},560 noenhanced font 'sans-serif,13' background 'white'\n",
        with_ratio ? 1240 : 760
    );
    for (const Algorithm& algorithm : report.algorithms) {
        text += block(algorithm.name, all);
    }
    text += bound_block("messages", report, Means::messages);
    text += bound_block("memory", report, Means::shared_memory);
    text += fmt::format(
        "set multiplot title {}\n"
        "set logscale x 2\nset xtics rotate by -45 ({})\nset xrange [{}:{}]\nset grid\n"
        "set tmargin at screen 0.86\nset bmargin at screen 0.14\n",
        plots::quoted(fmt::format(
            "{} of float32, {} ranks: {}", report.collective.name, report.machine.ranks,
            report.machine.mpi
        )),
        size_marks(report), static_cast<double>(report.points.front().size_bytes) / 1.5,
        static_cast<double>(report.points.back().size_bytes) * 1.5
    );
    // the legend stands to the right of all panels, and belongs to the first
    text += fmt::format(
        "set lmargin at screen {}\nset rmargin at screen {}\n"
        "set key at screen 0.995,0.86 right top\n"
        "set title 'time'\nset logscale y 10\nset format y '%.0s %cs'\nplot {}{}\n",
        with_ratio ? 0.07 : 0.1, with_ratio ? 0.41 : 0.7, curves(report, 2), bounds(report)
    );
    if (with_ratio) {
        text += fmt::format(
            "set lmargin at screen 0.48\nset rmargin at screen 0.82\nunset key\n"
            "set title 'times as fast as naive'\nset logscale y 2\nset format y '%g'\nplot {}\n",
            curves(report, 3)
        );
    }
    return text + "unset multiplot\n";
}

}  // namespace dist::lab
