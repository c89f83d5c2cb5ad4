#include "course/plots/training_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include "course/plots/gnuplot.hpp"

namespace dist::plots {
namespace {

constexpr double kMostPoints = 300;  // of a curve: more is noise

/// Of a curve: images or tokens seen, loss, accuracy in percent, seen per second, as in Column. NaN: no number.
using Point = std::array<double, 4>;
enum Column { seen, loss, accuracy, seen_per_s };

Point point_of(const Step& step) {
    return {step.seen, step.loss, 100 * step.accuracy, step.seen_per_s};
}

/// What is a number counts, column by column.
Point mean(const std::vector<Point>& points) {
    Point means{};
    for (std::size_t column = 0; column < means.size(); ++column) {
        double sum = 0;
        int count = 0;
        for (const Point& point : points) {
            if (std::isfinite(point[column])) {
                sum += point[column];
                ++count;
            }
        }
        means[column] = sum / count;  // 0 / 0 is NaN
    }
    return means;
}

/// One point for the steps whose last pictures are in the same `width` pictures; 0: one for each.
std::vector<Point> smooth(const std::vector<Step>& steps, double width) {
    std::vector<Point> points;
    for (auto step = steps.begin(); step != steps.end();) {
        const double end = width > 0 ? std::ceil(step->seen / width) * width : step->seen;
        std::vector<Point> together;
        for (; step != steps.end() && step->seen <= end; ++step) {
            together.push_back(point_of(*step));
        }
        points.push_back(mean(together));
    }
    return points;
}

/// A run as it is drawn.
struct Run {
    Style style;
    double weight;  // of lines and marks
    std::string name;
    std::vector<Point> training;
    std::vector<Point> tests;  // without loss and speed
};

/// The least and the greatest number in a column; two infinities, the wrong way round, if there is none.
std::pair<double, double> range(const std::vector<Run>& runs, Column column) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::pair range{kInfinity, -kInfinity};
    for (const Run& run : runs) {
        for (const auto& points : {run.training, run.tests}) {
            for (const Point& point : points) {
                if (std::isfinite(point[column])) {
                    range.first = std::min(range.first, point[column]);
                    range.second = std::max(range.second, point[column]);
                }
            }
        }
    }
    return range;
}

/// A y-axis from 0. gnuplot would end, had it to find a range among no numbers.
std::string axis(std::pair<double, double> range) {
    return fmt::format("set yrange [0:{:.6g}]\n", range.second > 0 ? range.second * 1.05 : 1);
}

/// The same for a loss: logarithmic where one that exploded would press all others to the ground.
std::string loss_axis(std::pair<double, double> range) {
    return range.first > 0 && range.second > 100 * range.first
               ? fmt::format(
                     "set logscale y\nset yrange [{:.6g}:{:.6g}]\n", range.first / 1.2,
                     range.second * 1.2
                 )
               : axis(range);
}

/// A data block; what was seen counts in `unit`.
std::string block(const std::string& name, const std::vector<Point>& points, double unit) {
    std::string text = fmt::format("${} << EOD\n", name);
    for (Point point : points) {
        point[seen] /= unit;
        for (const double value : point) {
            text += std::isfinite(value) ? fmt::format("{:.7g} ", value) : "NaN ";
        }
        text.back() = '\n';
    }
    return text + "EOD\n";
}

/// Where a panel stands, from the bottom; what is above it; a curve for each run.
template <class Curve>
std::string panel(
    double bottom, const std::string& title, const std::vector<Run>& runs, const Curve& curve
) {
    std::vector<std::string> curves;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        curves.push_back(curve(i, runs[i]));
    }
    return fmt::format(
        "set bmargin at screen {:.3f}\nset tmargin at screen {:.3f}\n"
        "set title {} offset 0,-0.5\nplot {}\n",
        bottom, bottom + 0.24, quoted(title), fmt::join(curves, ", \\\n  ")
    );
}

/// Line and mark of a run.
std::string drawn(const Run& run) {
    return fmt::format(
        "with linespoints lw {:.2f} pt {} ps {:.2f} lc rgb '{}'", 1.3 * run.weight, run.style.mark,
        0.6 * run.weight, run.style.colour
    );
}

/// A curve of a column, with its mark at a dozen points.
auto curve(Column column) {
    return [column](std::size_t i, const Run& run) {
        return fmt::format(
            "$train{} using 1:{} {} pi {} notitle", i, column + 1, drawn(run),
            run.training.size() / 12 + 1
        );
    };
}

/// The same, and the run's name: the legend of the first panel belongs to all.
std::string loss_and_name(std::size_t i, const Run& run) {
    return fmt::format("{}, NaN {} title {}", curve(loss)(i, run), drawn(run), quoted(run.name));
}

/// Training thin and half transparent, tests as points. gnuplot complains of a curve without points.
std::string accuracies(std::size_t i, const Run& run) {
    return fmt::format(
               "$train{} using 1:3 with lines lw 0.8 lc rgb '#80{}' notitle", i,
               run.style.colour + 1
           ) +
           (run.tests.empty() ? "" : fmt::format(", $test{} using 1:3 {} notitle", i, drawn(run)));
}

std::string title(const std::vector<TrainingLog>& logs) {
    const auto count = [&](std::optional<bool> synthetic) {
        return std::ranges::count(logs, synthetic, &TrainingLog::synthetic);
    };
    if (logs.front().of_text) {
        return "Training on text";
    }
    if (count(true) == std::ssize(logs)) {
        return "Training on synthetic pictures, made from the seed: not on real ones";
    }
    if (count(true) > 0) {
        return "Training: in part on synthetic pictures, not to be compared with real ones";
    }
    return count(false) > 0 ? "Training on CIFAR-10" : "Training";
}

/// How many images or tokens are one point of a curve; 0: each step is one.
double smoothing(const std::vector<TrainingLog>& logs, double most_seen) {
    const bool many = std::ranges::any_of(logs, [](const TrainingLog& log) {
        return static_cast<double>(log.steps.size()) > kMostPoints;
    });
    return many ? std::ceil(most_seen / kMostPoints) : 0;
}

std::vector<Run> runs_of(const std::vector<TrainingLog>& logs, double smoothed) {
    std::vector<Run> runs;
    for (const TrainingLog& log : logs) {
        // from 2 to 1: each lies on those before it, so that of equal curves all show
        const auto later = static_cast<double>(logs.size() - runs.size() - 1);
        const double weight = 1 + later / std::max<double>(1, static_cast<double>(logs.size()) - 1);
        Run run{kStyles[runs.size()], weight, log.name, smooth(log.steps, smoothed), {}};
        run.name += log.synthetic.value_or(false) ? " (synthetic)" : "";
        for (const Test& test : log.tests) {
            run.tests.push_back({test.seen, NAN, 100 * test.accuracy, NAN});
        }
        runs.push_back(run);
    }
    return runs;
}

}  // namespace

std::string training_script(const std::vector<TrainingLog>& logs) {
    const std::string what = seen_by(logs.front());
    double most_seen = 0;
    for (const TrainingLog& log : logs) {
        most_seen = std::max(most_seen, log.steps.back().seen);
    }
    const double unit = most_seen >= 10'000 ? 1000 : 1;
    const double smoothed = smoothing(logs, most_seen);
    const std::vector<Run> runs = runs_of(logs, smoothed);
    std::string blocks;
    std::size_t longest_name = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        blocks += block(fmt::format("train{}", i), runs[i].training, unit);
        blocks += block(fmt::format("test{}", i), runs[i].tests, unit);
        longest_name = std::max(longest_name, runs[i].name.size());
    }
    const double width = 900 + 8 * static_cast<double>(longest_name);
    const std::string means =
        smoothed > 0 ? fmt::format(" (here and below: means over {:.0f} {})", smoothed, what) : "";
    std::string text = fmt::format(
        "set encoding utf8\n"
        "set terminal svg size {:.0f},900 noenhanced font 'sans-serif,13' background 'white'\n"
        "{}set multiplot title {} font 'sans-serif,16'\n"
        "set grid\nset xrange [0:{:.7g}]\nset format x ''\n"
        "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n"
        "set key at screen {:.4f},0.9 left top Left reverse\n",
        width, blocks, quoted(title(logs)), 1.02 * most_seen / unit, 70 / width, 800 / width,
        810 / width
    );
    text +=
        loss_axis(range(runs, loss)) + panel(0.66, "loss in training" + means, runs, loss_and_name);
    text +=
        "unset logscale\nunset key\n" + axis(range(runs, accuracy)) +
        panel(
            0.365, "accuracy in percent: in tests (points), in training (thin)", runs, accuracies
        );
    text += fmt::format(
        "set format x '%g'\nset xlabel '{} seen by all ranks{}'\n", what,
        unit > 1 ? ", in thousands" : ""
    );
    return text + axis(range(runs, seen_per_s)) +
           panel(0.07, what + " per second", runs, curve(seen_per_s)) + "unset multiplot\n";
}

}  // namespace dist::plots
