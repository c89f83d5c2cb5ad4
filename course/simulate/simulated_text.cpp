#include "course/simulate/simulated_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "course/algorithms/crossing.hpp"
#include "course/algorithms/units.hpp"

namespace dist::cli {
namespace {

using lab::in_words;
using simulation::Timed;

using Point = std::pair<int, std::size_t>;  // ranks, bytes

// Of times that differ by less, none is the faster: what SMPI adds for its own messages.
constexpr double kSame = 1e-4;

/// Those that may be the fastest: of the course, of the peers, or of both.
std::vector<const Timed*> right(const Simulated& simulated, bool ours, bool peers) {
    std::vector<const Timed*> times;
    for (const Timed& time : simulated.times) {
        const bool wanted = simulated.peers.contains(time.algorithm) ? peers : ours;
        if (wanted && may_win(simulated, time)) {
            times.push_back(&time);
        }
    }
    return times;
}

/// The fastest of each point; of equal ones the first.
std::map<Point, const Timed*> fastest(const std::vector<const Timed*>& times) {
    std::map<Point, const Timed*> best;
    for (const Timed* const at : times) {
        const Timed& time = *at;
        const Timed*& known = best[{time.ranks, time.size_bytes}];
        if (known == nullptr || time.seconds < known->seconds * (1 - kSame)) {
            known = &time;
        }
    }
    return best;
}

const Timed* find(
    const std::vector<Timed>& times, const std::string& algorithm, const Point& point
) {
    const auto found = std::ranges::find_if(times, [&](const Timed& time) {
        return time.algorithm == algorithm && Point(time.ranks, time.size_bytes) == point;
    });
    return found == times.end() ? nullptr : &*found;
}

/// "recursive_doubling up to 64 KiB, halving_doubling from 256 KiB on"
std::string winners(const std::map<Point, const Timed*>& best, int ranks) {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> runs;
    for (const auto& [point, time] : best) {
        if (point.first != ranks) {
            continue;
        }
        if (runs.empty() || runs.back().first != time->algorithm) {
            runs.push_back({time->algorithm, {}});
        }
        runs.back().second.push_back(point.second);
    }
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& [name, sizes] = runs[i];
        const bool last = i + 1 == runs.size();
        parts.push_back(
            runs.size() == 1   ? name
            : last             ? fmt::format("{} from {} on", name, in_words(sizes.front()))
            : sizes.size() > 1 ? fmt::format("{} to {}", name, in_words(sizes.back()))
                               : fmt::format("{} at {}", name, in_words(sizes.front()))
        );
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// "5 WRONG in mean", "fails its test", "fastest"
std::string verdict_of(const Simulated& simulated, const Timed& time, bool best) {
    if (time.wrong > 0) {
        return fmt::format(
            "  {} WRONG{}", time.wrong, time.wrong_op.empty() ? "" : " in " + time.wrong_op
        );
    }
    return !may_win(simulated, time) ? "  fails its test" : best ? "  fastest" : "";
}

using TimedCells = std::array<std::string, 9>;

/// A line of the table; where it would not fit into a window, without messages and bytes; on nodes
/// without the ratio instead.
std::string timed_line(const TimedCells& cells, std::size_t columns, bool on_nodes) {
    constexpr std::size_t kWhole = 110;
    const auto& [ranks, size, algorithm, time, formula, ratio, messages, sent, gain] = cells;
    return columns >= kWhole
               ? fmt::format(
                     "{:>6} {:>10} {:<20} {:>10} {:>10} {:>8} {:>10} {:>10} {:>9}", ranks, size,
                     algorithm, time, formula, ratio, messages, sent, gain
                 )
               : fmt::format(
                     "{:>6} {:>8} {:<18} {:>9} {:>9} {:>7} {:>8}", ranks, size, algorithm, time,
                     formula, on_nodes ? sent : ratio, gain
                 );
}

/// On nodes the bytes that cross from one to another stand in the place of all, and GB/s in that of
/// the gain.
TimedCells timed_cells(
    const Simulated& simulated, const Cluster& cluster, const Timed& time, const Timed* naive
) {
    const bool measured = !simulated.by_formula;
    const bool on_nodes = cluster.per_node > 0;
    const long sent = on_nodes ? time.crossing : time.bytes;
    const double bus_bytes = time.bus_factor * static_cast<double>(time.size_bytes);
    const std::string bandwidth =
        bus_bytes > 0 ? fmt::format("{:.4g}", 1e-9 * bus_bytes / time.seconds) : "-";
    return {
        std::to_string(time.ranks),
        in_words(time.size_bytes),
        time.algorithm,
        measured ? in_seconds(time.seconds) : "-",
        time.model_s < 0 ? "-" : in_seconds(time.model_s),
        time.model_s <= 0 || !measured ? "-" : fmt::format("{:.4f}", time.seconds / time.model_s),
        time.messages < 0 ? "-" : std::to_string(time.messages),
        sent < 0 ? "-" : in_bytes(static_cast<double>(sent)),
        on_nodes           ? bandwidth
        : naive == nullptr ? "-"
                           : fmt::format("{:.2f}", naive->seconds / time.seconds)};
}

std::set<int> ranks_in(const std::vector<Timed>& times) {
    std::set<int> ranks;
    for (const Timed& time : times) {
        ranks.insert(time.ranks);
    }
    return ranks;
}

/// Where ring passes naive: over sizes on each number of ranks.
std::string crossings(const Simulated& simulated) {
    std::string text;
    for (const int ranks : ranks_in(simulated.times)) {
        std::vector<lab::At> naive;
        std::vector<lab::At> ring;
        for (const Timed& time : simulated.times) {
            if (time.ranks == ranks && (time.algorithm == "naive" || time.algorithm == "ring")) {
                (time.algorithm == "naive" ? naive : ring)
                    .push_back({static_cast<double>(time.size_bytes), time.seconds});
            }
        }
        if (const auto at = lab::crossover(naive, ring)) {
            text += fmt::format("# {} ranks: ring passes naive at {:.0f} bytes\n", ranks, at->x);
        }
    }
    return text;
}

/// What the course's best takes over the best of the peers, by size.
std::string against_peers(const Simulated& simulated, int ranks) {
    const auto best = fastest(right(simulated, true, false));
    std::vector<std::string> ratios;
    for (const auto& [point, peer] : fastest(right(simulated, false, true))) {
        if (const auto found = best.find(point); found != best.end() && point.first == ranks) {
            ratios.push_back(fmt::format(
                "{:.4f} at {}", found->second->seconds / peer->seconds, in_words(point.second)
            ));
        }
    }
    return ratios.empty() ? ""
                          : fmt::format(
                                "# {} ranks, the course's best over the best peer: {}\n", ranks,
                                fmt::join(ratios, ", ")
                            );
}

/// Where `mine` takes longer than what it should do at once.
std::string slower_than_formula(const Simulated& simulated) {
    constexpr double kAsTheFormula =
        1.01;  // what the nearest segments, and messages to agree on something, may take
    std::string text;
    for (const Timed& time : simulated.times) {
        if (time.algorithm == "mine" && time.model_s > 0 && time.wrong <= 0 &&
            time.seconds > kAsTheFormula * time.model_s) {
            text += fmt::format(
                "# mine takes {:.1f} times the formula's time on {} ranks: messages that "
                "could travel at the same time wait for each other\n",
                time.seconds / time.model_s, time.ranks
            );
        }
    }
    return text;
}

}  // namespace

std::string in_bytes(double bytes) {
    for (const char* const unit : {"B", "KB", "MB", "GB"}) {
        if (bytes < 999.5 || unit[0] == 'G') {
            return fmt::format("{:.{}f} {}", bytes, bytes < 99.95 && unit[0] != 'B' ? 1 : 0, unit);
        }
        bytes /= 1000;
    }
    return "";
}

std::string in_seconds(double seconds) {
    for (const auto& [factor, unit] : {std::pair{1e6, "us"}, std::pair{1e3, "ms"}}) {
        if (seconds * factor < 999.5) {
            return fmt::format("{:.4g} {}", seconds * factor, unit);
        }
    }
    return fmt::format("{:.4g} s", seconds);
}

std::string place_of(const Cluster& cluster) {
    if (!cluster.platform.empty()) {
        return cluster.platform.filename().string();
    }
    const std::string adds =
        cluster.add_s_per_byte > 0
            ? fmt::format(", {:.3g} GB/s to add", 1e-9 / cluster.add_s_per_byte)
            : ", adding takes no time";
    if (cluster.per_node > 0) {
        return fmt::format(
            "nodes of {} ranks, {:.4g} Gbit/s for each and {} inside, {:.4g} Gbit/s for each and "
            "{} "
            "between nodes{}",
            cluster.per_node, cluster.inside_bytes_per_s * 8e-9,
            in_seconds(cluster.inside_latency_s), cluster.bytes_per_s * 8e-9,
            in_seconds(cluster.latency_s), adds
        );
    }
    return fmt::format(
        "{:.4g} Gbit/s for each rank, {} from rank to rank{}", cluster.bytes_per_s * 8e-9,
        in_seconds(cluster.latency_s), adds
    );
}

std::string table_of(const Simulated& simulated, const Cluster& cluster, std::size_t columns) {
    const auto best = fastest(right(simulated, true, true));
    std::string text = fmt::format(
        "# {} of float32 {}: {}\n", simulated.collective,
        simulated.by_formula ? "by its formulas, without a simulation" : "on a simulated cluster",
        place_of(cluster)
    );
    const bool on_nodes = cluster.per_node > 0;
    text += timed_line(
                {"# ranks", "size", "algorithm", "time", "formula", "ratio", "messages",
                 on_nodes ? "crossing" : "sent", on_nodes ? "GB/s" : "vs naive"},
                columns, on_nodes
            ) +
            "\n";
    std::set<Point> points;
    for (const Timed& time : simulated.times) {
        points.insert({time.ranks, time.size_bytes});
    }
    for (const Point& point : points) {
        const Timed* const naive = find(simulated.times, "naive", point);
        for (const Timed& time : simulated.times) {
            if (Point(time.ranks, time.size_bytes) == point) {
                const auto winner = best.find(point);
                const bool wins = winner != best.end() && winner->second == &time;
                text +=
                    timed_line(timed_cells(simulated, cluster, time, naive), columns, on_nodes) +
                    verdict_of(simulated, time, wins) + "\n";
            }
        }
    }
    for (const int ranks : ranks_in(simulated.times)) {
        const std::string names = winners(best, ranks);
        text += names.empty() ? "" : fmt::format("# {} ranks, fastest: {}\n", ranks, names);
    }
    for (const int ranks : ranks_in(simulated.times)) {
        text += against_peers(simulated, ranks);
    }
    text += crossings(simulated) + slower_than_formula(simulated);
    text += simulated.refused.empty() ? "" : "# mine does not pass its test\n";
    for (const std::string& note : simulated.notes) {
        text += fmt::format("# {}\n", note);
    }
    return text;
}

std::string csv_of(const Simulated& simulated) {
    std::string text =
        "collective,algorithm,ranks,size_bytes,seconds,model_s,messages,bytes,wrong,crossing\n";
    const auto known = [](auto x) { return x < 0 ? "" : fmt::format("{}", x); };
    for (const Timed& time : simulated.times) {
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{}\n", time.collective, time.algorithm, time.ranks,
            time.size_bytes, time.seconds, known(time.model_s), known(time.messages),
            known(time.bytes), known(time.wrong), known(time.crossing)
        );
    }
    return text;
}

nlohmann::json document_of(const Cluster& cluster) {
    if (!cluster.platform.empty()) {
        return {{"platform", cluster.platform.string()}};
    }
    nlohmann::json document = {
        {"latency_s", cluster.latency_s},
        {"bytes_per_s", cluster.bytes_per_s},
        {"add_s_per_byte", cluster.add_s_per_byte}};
    if (cluster.per_node > 0) {
        document["per_node"] = cluster.per_node;
        document["inside_latency_s"] = cluster.inside_latency_s;
        document["inside_bytes_per_s"] = cluster.inside_bytes_per_s;
    }
    return document;
}

std::string json_of(const Simulated& simulated, const Cluster& cluster) {
    nlohmann::json document = {
        {"collective", simulated.collective},
        {"times", simulated.times},
        {"notes", simulated.notes},
        {"by_formula", simulated.by_formula},
        {"refused",
         simulated.refused.empty() ? nlohmann::json() : nlohmann::json(simulated.refused)}};
    for (nlohmann::json& time : document["times"]) {  // what is not known is null
        for (const char* const name : {"model_s", "messages", "bytes", "wrong", "crossing"}) {
            time[name] = time[name] < 0 ? nlohmann::json() : time[name];
        }
    }
    document["cluster"] = document_of(cluster);
    return document.dump() + "\n";
}

}  // namespace dist::cli
