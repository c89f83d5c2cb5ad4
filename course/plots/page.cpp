#include "course/plots/page.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <numeric>

namespace dist::plots {
namespace {

// pixels
constexpr double kWidth = 760;
constexpr double kPlot = 340;    // how high one panel is
constexpr double kBetween = 50;  // with the title of the lower one
constexpr double kAbove = 75;
constexpr double kBelow = 75;
constexpr double kNameHeight = 16;

// columns of a point's line that are 1 where it has such a mark
constexpr int kGrey = 5;
constexpr int kColoured = 6;

constexpr double kLeft = 0.11;  // of the width
constexpr double kRight = 0.72;
constexpr double kLane = 9;
constexpr double kLanes = 0.9;  // all of them, at most, of the way from one tick to the next
constexpr double kMargin = 1.25;

/// What is a multiple of what on the way from one tick to the next one, where they are nearest.
double spacing_of(const std::vector<Tick>& ticks) {
    double least = 4;
    for (std::size_t i = 1; i < ticks.size(); ++i) {
        least = i == 1 ? ticks[i].x / ticks[i - 1].x : std::min(least, ticks[i].x / ticks[i - 1].x);
    }
    return least;
}

/// Of ratios so many that one can be read off, and no fractions that nobody says.
std::string y_ticks(const Panel& panel, double span) {
    constexpr double kWide = 4;  // from the lowest to the highest, as a ratio
    return !panel.ratios ? "autofreq"
           : span > kWide
               ? "(0.01,0.02,0.05,0.1,0.2,0.3,0.5,0.7,1,1.4,2,3,4,5,7,10,20,50,100)"
               : "(0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.3,1.4,1.5,1.7,2,2.5,3,3.5,4,5,6,7,8,10)";
}

std::vector<double> heights_of(const Curve& curve) {
    std::vector<double> heights;
    for (const Spot& spot : curve.points) {
        if (spot.y > 0) {
            heights.push_back(spot.y);
        }
    }
    std::ranges::sort(heights);
    return heights;
}

/// One panel among those of a page.
class Drawing {
  public:
    Drawing(const Page& page, std::size_t place)
        : page_(page),
          panel_(page.panels[place]),
          place_(place),
          spacing_(spacing_of(page.ticks)),
          lowest_(std::numeric_limits<double>::infinity()),
          bottom_(std::numeric_limits<double>::infinity()) {
        for (const Curve& curve : panel_.curves) {
            const std::vector<double> heights = heights_of(curve);
            if (!curve.limit && !heights.empty()) {
                lowest_ = std::min(lowest_, heights.front());
                bottom_ = std::min(bottom_, heights.back());
                top_ = std::max(top_, heights.back());
            }
            lanes_ += curve.limit ? 0 : 1;
        }
        bottom_ = std::max(lowest_, std::min(bottom_, panel_.cut_below));
        bottom_ /= kMargin;
        top_ *= kMargin;
        // a limit that lies below all that was measured
        std::erase_if(panel_.curves, [&](const Curve& curve) {
            const std::vector<double> heights = heights_of(curve);
            return curve.limit && (heights.empty() || heights.back() < bottom_);
        });
        const double ticks =
            1 + std::log(page.ticks.back().x / page.ticks.front().x) / std::log(spacing_);
        const double between = (kRight - kLeft) * kWidth / ticks;
        lanes_width_ = std::min(kLanes, lanes_ * kLane / between);
    }

    [[nodiscard]] std::string data() const {
        std::string text;
        int lane = 0;
        for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
            const Curve& curve = panel_.curves[i];
            const double aside = curve.limit ? 1.0 : beside(lane++);
            text += fmt::format("{} << EOD\n", block(i));
            for (const Spot& spot : curve.points) {
                if (spot.y > 0) {
                    const auto [from, to] = spot.range.value_or(std::pair{spot.y, spot.y});
                    text += fmt::format(
                        "{} {} {} {} {}\n", spot.x * aside, spot.y, from, to,
                        spot.grey ? "1 NaN" : "NaN 1"
                    );
                }
            }
            text += "EOD\n";
        }
        return text;
    }

    [[nodiscard]] std::string plot(double height) const {
        const double below =
            kBelow + static_cast<double>(page_.panels.size() - 1 - place_) * (kPlot + kBetween);
        const bool last = place_ + 1 == page_.panels.size();
        std::vector<std::string> ticks;
        for (const Tick& tick : page_.ticks) {
            ticks.push_back(fmt::format("{} {}", quoted(last ? tick.text : ""), tick.x));
        }
        std::string text = fmt::format(
            "set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\nset title {}\n"
            "set yrange [{}:{}]\nset logscale y\nset format y '{}'\nset ytics {}\n"
            "set xrange [{}:{}]\nset xtics rotate by -45 ({})\n"
            "unset arrow\nunset label\nunset object\n",
            below / height, (below + kPlot) / height,
            quoted(panel_.title + (lowest_ < bottom_ ? " (what is lower still lies below)" : "")),
            bottom_, top_, panel_.y_format, y_ticks(panel_, top_ / bottom_),
            page_.ticks.front().x / std::sqrt(spacing_), right_end(), fmt::join(ticks, ", ")
        );
        text += panel_.ratios ? "set arrow from graph 0,first 1 to graph 1,first 1 nohead back lw "
                                "1.5 lc rgb '#a0a0a0'\n"
                              : "";
        text += between_ticks() + bands(last) + names();
        return text + fmt::format("plot {}\n", fmt::join(lines(), ", \\\n  "));
    }

  private:
    [[nodiscard]] std::string block(std::size_t curve) const {
        return fmt::format("$panel{}line{}", place_, curve);
    }

    [[nodiscard]] double right_end() const { return page_.ticks.back().x * std::sqrt(spacing_); }

    /// By what the x of this lane differs from a tick's.
    [[nodiscard]] double beside(int lane) const {
        return std::pow(spacing_, lanes_width_ * ((lane + 0.5) / lanes_ - 0.5));
    }

    [[nodiscard]] double place_of(double y) const {
        const double up = std::log(y / bottom_) / std::log(top_ / bottom_);
        return std::clamp(up, 0.0, 1.0);
    }

    [[nodiscard]] std::string between_ticks() const {
        std::string text;
        for (std::size_t i = 1; i < page_.ticks.size(); ++i) {
            text += fmt::format(
                "set arrow from {0},graph 0 to {0},graph 1 nohead back lc rgb '#dddddd'\n",
                std::sqrt(page_.ticks[i - 1].x * page_.ticks[i].x)
            );
        }
        return text;
    }

    [[nodiscard]] std::string bands(bool named) const {
        std::string text;
        for (const Band& band : page_.bands) {
            text += fmt::format(
                "set object rectangle from {},graph 0 to {},graph 1 fc rgb '#e4e4e4' fillstyle "
                "solid "
                "noborder behind\n",
                std::max(band.low, page_.ticks.front().x / std::sqrt(spacing_)),
                std::min(band.high, right_end())
            );
            text += named ? fmt::format(
                                "set label {} at {},graph 0.02 left rotate by 90 offset 0,0 "
                                "font ',11' textcolor rgb '#606060'\n",
                                quoted(band.what), std::sqrt(band.low * band.high)
                            )
                          : "";
        }
        return text;
    }

    /// The names to the right, each with a line that leads there from the curve's end.
    [[nodiscard]] std::string names() const {
        std::vector<double> ends;
        for (const Curve& curve : panel_.curves) {
            ends.push_back(curve.points.empty() ? 0.0 : place_of(curve.points.back().y));
        }
        const std::vector<double> places = apart(ends, kNameHeight / kPlot);
        std::string text;
        int lane = 0;
        for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
            const Curve& curve = panel_.curves[i];
            const double x = curve.limit ? right_end() : page_.ticks.back().x * beside(lane++);
            text += fmt::format(
                "set arrow from first {},graph {:.4f} to graph 1.035,{:.4f} nohead lw 0.5 dt {} lc "
                "rgb '{}'\n",
                x, ends[i], places[i], curve.limit ? 3 : 1, curve.style.colour
            );
            const std::string name = fmt::format(
                "set label {} at graph 1.05,{:.4f} left", quoted(curve.name), places[i]
            );
            text += curve.limit ? name + " offset 1,0 textcolor rgb '#606060'\n"
                                : fmt::format(
                                      "{} offset 1,-0.3 point pt {} ps 0.6 lc rgb '{}'\n", name,
                                      curve.style.mark, curve.style.colour
                                  );
        }
        return text;
    }

    /// The points whose column is 1.
    [[nodiscard]] std::string marks(std::size_t curve, int column, std::string_view shade) const {
        return fmt::format(
            "{} using 1:($2*${}) with points pt {} ps 0.6 lc rgb '{}' notitle", block(curve),
            column, panel_.curves[curve].style.mark, shade
        );
    }

    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> ranges;
        std::vector<std::string> all;
        for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
            const Curve& curve = panel_.curves[i];
            const char* const colour = curve.style.colour;
            if (std::ranges::any_of(curve.points, [](const Spot& spot) {
                    return spot.range.has_value();
                })) {
                ranges.push_back(fmt::format(
                    "{} using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lc rgb "
                    "'{}' notitle",
                    block(i), colour
                ));
            }
            all.push_back(fmt::format(
                "{} using 1:2 with lines {} lc rgb '{}' notitle", block(i),
                curve.limit ? "lw 1.5 dt 2" : "lw 1", colour
            ));
            if (!curve.limit) {
                all.push_back(marks(i, kColoured, colour));
            }
            if (std::ranges::any_of(curve.points, &Spot::grey)) {
                all.push_back(marks(i, kGrey, "#b0b0b0"));
            }
        }
        ranges.insert(ranges.end(), all.begin(), all.end());
        return ranges;
    }

    const Page& page_;
    Panel panel_;
    std::size_t place_;
    double spacing_;
    double lowest_;
    double bottom_;
    double top_ = 0;
    int lanes_ = 0;
    double lanes_width_ = 0;  // of the way from one tick to the next
};

}  // namespace

std::string script_of(const Page& page) {
    const auto panels = static_cast<double>(page.panels.size());
    const double height = kAbove + panels * kPlot + (panels - 1) * kBetween + kBelow;
    std::vector<Drawing> drawings;
    for (std::size_t i = 0; i < page.panels.size(); ++i) {
        drawings.emplace_back(page, i);
    }
    std::string text = fmt::format(
        "set encoding utf8\n"
        "set terminal svg size {},{} noenhanced font 'sans-serif,14' background 'white'\n",
        kWidth, height
    );
    for (const Drawing& drawing : drawings) {
        text += drawing.data();
    }
    text += fmt::format(
        "set multiplot title {}\n"
        "set logscale x 2\nset grid ytics lc rgb '#dddddd'\nset border 3\nset tics nomirror out\n"
        "set lmargin at screen {}\nset rmargin at screen {}\nunset key\n",
        quoted(page.title), kLeft, kRight
    );
    for (const Drawing& drawing : drawings) {
        text += drawing.plot(height);
    }
    return text + "unset multiplot\n";
}

std::vector<double> apart(const std::vector<double>& places, double gap) {
    std::vector<std::size_t> order(places.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return places[i]; });
    // Less the gaps below it, each place is to be no lower than the one before. Where it would be, it joins that one, and
    // both stand at their mean.
    struct Joined {
        double sum = 0;
        std::size_t count = 0;
        [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    };
    std::vector<Joined> groups;
    for (std::size_t k = 0; k < order.size(); ++k) {
        groups.push_back({places[order[k]] - static_cast<double>(k) * gap, 1});
        while (groups.size() > 1 && groups[groups.size() - 2].mean() >= groups.back().mean()) {
            const Joined last = groups.back();
            groups.pop_back();
            groups.back().sum += last.sum;
            groups.back().count += last.count;
        }
    }
    const double room = std::max(0.0, 1 - (static_cast<double>(places.size()) - 1) * gap);
    std::vector<double> moved(places.size());
    std::size_t k = 0;
    for (const Joined& group : groups) {
        for (std::size_t one = 0; one < group.count; ++one, ++k) {
            moved[order[k]] = std::clamp(group.mean(), 0.0, room) + static_cast<double>(k) * gap;
        }
    }
    return moved;
}

}  // namespace dist::plots
