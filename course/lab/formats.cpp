#include "course/lab/formats.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "course/algorithms/units.hpp"

namespace dist::lab {
namespace {

/// As OSU's programs name a collective: "Allreduce".
std::string osu_name(std::string_view collective) {
    if (collective == "broadcast") {
        return "Broadcast";
    }
    if (collective == "reduce_scatter") {
        return "Reduce_scatter";
    }
    std::string name;
    for (const char letter : collective) {
        if (letter != '_') {
            name += letter;
        }
    }
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    return name;
}

/// The rows of each algorithm that was measured, with what stands above and below them.
template <class Above, class Line, class Below>
std::string tables(const std::vector<Measured>& measurements, Above above, Line line, Below below) {
    std::string text;
    for (const Measured& measured : measurements) {
        const std::vector<Row> all = rows(measured);
        for (const Algorithm& algorithm : measured.algorithms) {
            std::vector<Row> its;
            std::ranges::copy_if(all, std::back_inserter(its), [&](const Row& row) {
                return row.point.algorithm == algorithm.name && !row.point.between;
            });
            text += above(measured, algorithm);
            for (const Row& row : its) {
                text += line(measured, row);
            }
            text += below(its);
        }
    }
    return text;
}

std::string above_nccl(const Measured& measured, const Algorithm& algorithm) {
    return fmt::format(
        "# {} of {} on {} ranks; time: the slowest rank's, median; GB/s = 10^9 bytes/s\n"
        "# algbw = size / time: what a program that calls it sees\n"
        "# busbw = algbw * {:.4g}: what each link carries if the algorithm sends no byte in vain\n"
        "#\n"
        "# {:<60} {:<31} {}\n"
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} "
        "{:>6}\n"
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} "
        "{:>6}\n",
        algorithm.name, measured.collective.name, measured.machine.ranks,
        measured.collective.bus_factor(measured.machine.ranks), "", "out-of-place", "in-place",
        "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
        "algbw", "busbw", "#wrong", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",
        "(us)", "(GB/s)", "(GB/s)", ""
    );
}

std::string line_nccl(const Measured& measured, const Row& row) {
    const Point& point = row.point;
    const bool has_root =
        measured.collective.name == "broadcast" || measured.collective.name == "reduce" ||
        measured.collective.name == "scatter" || measured.collective.name == "gather";
    return fmt::format(
        "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6.2f}  {:>6.2f} "
        "{:>6}\n",
        point.size_bytes, point.size_bytes / sizeof(float), "float", redop(measured),
        has_root ? 0 : -1, "N/A", "N/A", "N/A", "N/A",
        fmt::format("{:.{}f}", point.median_s * kMicro, point.median_s < 1e-2 ? 2 : 0),
        row.algbw_gbs, row.busbw_gbs, point.wrong
    );
}

std::string below_nccl(const std::vector<Row>& its) {
    long wrong = 0;
    double busbw_gbs = 0.0;
    for (const Row& row : its) {
        wrong += row.point.wrong;
        busbw_gbs += row.busbw_gbs / static_cast<double>(its.size());
    }
    return fmt::format(
        "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n#\n", wrong,
        wrong == 0 ? "OK" : "FAILED", busbw_gbs
    );
}

std::string above_osu(const Measured& measured, const Algorithm& algorithm) {
    return fmt::format(
        "\n# OSU MPI {} Latency Test v7: its columns, by shardlings: {} on {} ranks, medians\n# "
        "Datatype: MPI_FLOAT.\n"
        "{:<10}{:>18}{:>18}{:>18}{:>12}\n",
        osu_name(measured.collective.name), algorithm.name, measured.machine.ranks, "# Size",
        "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"
    );
}

std::string line_osu(const Measured& /*measured*/, const Row& row) {
    const Point& point = row.point;
    return fmt::format(
        "{:<10}{:>18.2f}{:>18.2f}{:>18.2f}{:>12}\n", point.size_bytes,
        point.mean_over_ranks_s * kMicro, point.fastest_rank_s * kMicro, point.median_s * kMicro,
        point.run
    );
}

}  // namespace

std::string to_nccl_format(const std::vector<Measured>& measurements) {
    return tables(measurements, above_nccl, line_nccl, below_nccl);
}

std::string to_osu_format(const std::vector<Measured>& measurements) {
    return tables(measurements, above_osu, line_osu, [](const std::vector<Row>&) { return ""; });
}

std::string to_raw(const std::vector<Measured>& measurements) {
    std::string text =
        "ranks,size_bytes,algorithm,block,others_share,round,min_over_ranks_us,mean_over_ranks_us,"
        "max_over_ranks_us,"
        "disturbed\n";
    for (const Measured& measured : measurements) {
        for (const RawCalls& raw : measured.raw) {
            for (std::size_t b = 0; b < raw.blocks.size(); ++b) {
                const Block& block = raw.blocks[b];
                for (std::size_t r = 0; r < block.rounds.size(); ++r) {
                    for (std::size_t a = 0; a < raw.algorithms.size(); ++a) {
                        const Timing& call = block.rounds[r][a];
                        text += fmt::format(
                            "{},{},{},{},{:.3f},{},{:.3f},{:.3f},{:.3f},{}\n",
                            measured.machine.ranks, raw.size_bytes, raw.algorithms[a], b,
                            block.others, r, call.min_s * kMicro, call.mean_s * kMicro,
                            call.max_s * kMicro, call.disturbed ? 1 : 0
                        );
                    }
                }
            }
        }
    }
    return text;
}

}  // namespace dist::lab
