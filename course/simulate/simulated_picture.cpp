#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>
#include <set>

#include "course/algorithms/crossing.hpp"
#include "course/algorithms/units.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/simulate/simulated_text.hpp"

namespace dist::cli {
namespace {

using simulation::Timed;

/// One panel: a line for each algorithm, and a mark where another one becomes the fastest.
class Panel {
  public:
    Panel(std::string prefix, std::string title)
        : prefix_(std::move(prefix)), title_(std::move(title)) {}

    /// may_win  it is no wrong answer.
    void add(
        const std::string& algorithm,
        double x,
        const std::string& mark,
        double seconds,
        bool may_win
    ) {
        if (!lines_.contains(algorithm)) {
            order_.push_back(algorithm);
        }
        lines_[algorithm].push_back({x, seconds});
        marks_[x] = mark;
        if (!may_win) {
            wrong_.insert(algorithm);
        }
    }

    [[nodiscard]] bool empty() const { return marks_.empty(); }

    [[nodiscard]] std::string data() const {
        std::string text;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            text += fmt::format("${}{} << EOD\n", prefix_, i);
            for (const lab::At& at : lines_.at(order_[i])) {
                text += fmt::format("{} {}\n", at.x, at.seconds);
            }
            text += "EOD\n";
        }
        return text;
    }

    [[nodiscard]] std::string plot(const std::vector<std::string>& all, bool legend) const {
        std::vector<std::string> ticks;
        for (const auto& [x, mark] : marks_) {
            ticks.push_back(fmt::format("'{}' {}", mark, x));
        }
        std::string text = fmt::format(
            "set title {}\nset xtics rotate by -45 ({})\nset xrange [{}:{}]\n{}\n",
            plots::quoted(title_), fmt::join(ticks, ", "), marks_.begin()->first / 1.5,
            marks_.rbegin()->first * 1.5,
            legend ? "set key at screen 0.995,0.86 right top" : "unset key"
        );
        text += "unset arrow\nunset label\n" + changes();
        std::vector<std::string> curves;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const auto place = std::ranges::find(all, order_[i]) - all.begin();
            const auto style =
                plots::kStyles[static_cast<std::size_t>(place) % plots::kStyles.size()];
            curves.push_back(fmt::format(
                "${}{} using 1:2 with linespoints lw 2 pt {} ps 0.8 lc rgb '{}' title {}", prefix_,
                i, style.mark, style.colour,
                plots::quoted(order_[i] + (wrong_.contains(order_[i]) ? " (wrong)" : ""))
            ));
        }
        return text + fmt::format("plot {}\n", fmt::join(curves, ", \\\n  "));
    }

  private:
    /// Where the fastest of one point is passed by that of the next.
    [[nodiscard]] std::string changes() const {
        std::string text;
        std::string before;
        for (const auto& [x, mark] : marks_) {
            std::string best;
            double least = 0;
            for (const std::string& name : order_) {
                for (const lab::At& at : lines_.at(name)) {
                    if (at.x == x && !wrong_.contains(name) &&
                        (best.empty() || at.seconds < least)) {
                        best = name;
                        least = at.seconds;
                    }
                }
            }
            if (!before.empty() && !best.empty() && best != before) {
                if (const auto at = lab::crossover(lines_.at(before), lines_.at(best))) {
                    text += fmt::format(
                        "set arrow from {0}, graph 0 to {0}, graph 1 nohead dt 3 lc rgb '#808080'\n"
                        "set label {1} at {0}, graph 0.97 right rotate by 90 offset -0.7,0 font "
                        "',10' "
                        "textcolor rgb '#606060'\n",
                        at->x, plots::quoted("from here " + best)
                    );
                }
            }
            before = best;
        }
        return text;
    }

    std::string prefix_;
    std::string title_;
    std::vector<std::string> order_;
    std::map<std::string, std::vector<lab::At>> lines_;
    std::map<double, std::string> marks_;
    std::set<std::string> wrong_;
};

}  // namespace

std::string picture_of(const Simulated& simulated, const Cluster& cluster) {
    std::size_t largest = 0;
    int most = 0;
    std::vector<std::string> all;
    for (const Timed& time : simulated.times) {
        largest = std::max(largest, time.size_bytes);
        most = std::max(most, time.ranks);
        if (std::ranges::find(all, time.algorithm) == all.end()) {
            all.push_back(time.algorithm);
        }
    }
    Panel over_ranks("ranks", lab::in_words(largest) + " over the number of ranks");
    Panel over_sizes("sizes", fmt::format("{} ranks, over the size", most));
    for (const Timed& time : simulated.times) {
        if (time.size_bytes == largest) {
            over_ranks.add(
                time.algorithm, time.ranks, std::to_string(time.ranks), time.seconds,
                may_win(simulated, time)
            );
        }
        if (time.ranks == most) {
            const auto bytes = static_cast<double>(time.size_bytes);
            over_sizes.add(
                time.algorithm, bytes, lab::in_words(time.size_bytes), time.seconds,
                may_win(simulated, time)
            );
        }
    }
    const std::string where =
        cluster.platform.empty()
            ? fmt::format(
                  "{:.4g} Gbit/s, {}{}", cluster.bytes_per_s * 8e-9, in_seconds(cluster.latency_s),
                  cluster.per_node > 0 ? fmt::format(" between nodes of {}", cluster.per_node) : ""
              )
            : cluster.platform.filename().string();
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 1240,560 noenhanced font 'sans-serif,13' background 'white'\n"
        "{}{}"
        "set multiplot title {}\n"
        "set logscale x 2\nset logscale y 10\nset format y '%.0s %cs'\nset grid\n"
        "set tmargin at screen 0.86\nset bmargin at screen 0.14\n"
        "set lmargin at screen 0.07\nset rmargin at screen 0.41\n{}"
        "set lmargin at screen 0.48\nset rmargin at screen 0.82\n{}"
        "unset multiplot\n",
        over_ranks.data(), over_sizes.data(),
        plots::quoted(fmt::format(
            "{} of float32, {}: {}", simulated.collective,
            simulated.by_formula ? "by formula" : "simulated", where
        )),
        over_ranks.plot(all, true), over_sizes.plot(all, false)
    );
}

}  // namespace dist::cli
