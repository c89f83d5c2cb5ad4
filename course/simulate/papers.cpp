#include "course/simulate/papers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "course/process/error.hpp"
#include "course/simulate/goodput.hpp"
#include "course/simulate/gpt_published.hpp"

namespace dist::cli {
namespace {

constexpr double kMilli = 1e-3;
constexpr double kMicro = 1e-6;

/// Hockney's model: a message of n bytes takes latency_s + n / bytes_per_s.
struct Link {
    double latency_s = 0;
    double bytes_per_s = 1;

    [[nodiscard]] double seconds(double messages, double bytes) const {
        return messages * latency_s + bytes / bytes_per_s;
    }
};

/// 2(p - 1) messages of a chunk, one after the other.
double ring_s(double bytes, int p, const Link& link) {
    const double messages = 2.0 * (p - 1);
    return link.seconds(messages, messages / p * bytes);
}

/// Recursive doubling, and halving and doubling; where p is no power of two, two messages of all bytes more.
double by_halves_s(double bytes, int p, const Link& link) {
    const unsigned q = std::bit_floor(static_cast<unsigned>(p));
    const int rounds = std::countr_zero(q);
    const int extra = q == static_cast<unsigned>(p) ? 0 : 2;
    const double doubling = link.seconds(rounds + extra, (rounds + extra) * bytes);
    const double halving = link.seconds(2 * rounds + extra, (2.0 * (q - 1) / q + extra) * bytes);
    return std::min(doubling, halving);
}

Paper playbook() {
    constexpr double kBytes = 256e6;
    constexpr int kPerNode = 8;
    const Link inside = {1e-6, 450e9};
    const Link between = {5e-6, 50e9};
    Paper paper{
        .name = "playbook",
        .title = "All-reduce of 256 MB on 1 to 64 nodes of 8 H100",
        .source = "Hugging Face, Ultra-Scale Playbook, pp_comm_bandwidth",
        .ours =
            "hierarchical all-reduce; 450 GB/s and 1 us inside of a node, 50 GB/s and 5 us for "
            "each rank between nodes",
        .unit = "GB/s of bus bandwidth",
        .rows = {},
        .why =
            "One node agrees; on two NCCL is faster, since its rings work at the same time. From "
            "four nodes on it falls as a ring over all GPUs does, with 2(p - 1) steps of 13 to 30 "
            "us, where hierarchical all-reduce has 2(L - 1) + 2(M - 1) of them (lesson 04)."};
    for (const auto& [nodes, published] :
         {std::pair{1, 436.0},
          {2, 361.7},
          {4, 160.1},
          {8, 99.6},
          {16, 84.7},
          {32, 64.9},
          {64, 32.9}}) {
        const double p = kPerNode * nodes;
        const double seconds = ring_s(kBytes, kPerNode, inside) +
                               (nodes > 1 ? ring_s(kBytes / kPerNode, nodes, between) : 0);
        paper.rows.push_back(
            {fmt::format("{} node{}", nodes, nodes > 1 ? "s" : ""), published,
             2 * (p - 1) / p * kBytes / seconds / kGiga}
        );
    }
    return paper;
}

Paper narayanan() {
    const PublishedComparison comparison = beside_published({});
    Paper paper{
        .name = "narayanan",
        .title = "GPT of 1.7 to 1008 billion parameters on 32 to 3072 A100",
        .source = "Narayanan et al. 2021, arXiv 2104.04473, table 1",
        .ours = fmt::format(
            "simulate train --model gpt; {:.1f} % of the card's rates are reached, fitted on the "
            "first row",
            100 * comparison.efficiency
        ),
        .unit = "TFLOP/s of a card",
        .rows = {},
        .why =
            "One efficiency serves all sizes, since matrices are large in all of them; what is "
            "left is what a card reaches of its rate for wider layers "
            "(simulate train --model gpt --published)."};
    for (const GptBeside& row : comparison.rows) {
        paper.rows.push_back(
            {fmt::format("{:.1f}e9 on {}", row.published.billions, row.published.ranks),
             row.published.tflops, row.ours.tflops}
        );
    }
    return paper;
}

Paper osu() {
    constexpr int kRanks = 144;
    const Link pair = {1.67e-6, 12254e6};
    Paper paper{
        .name = "osu",
        .title = "OSU 7.5, all-reduce of Open MPI 5.0.8, 4 nodes of 36 ranks",
        .source = "Oracle, tutorial on clusters with RoCE",
        .ours =
            "the fastest formula of ring, recursive doubling, and halving and doubling; 1.67 us "
            "and 12.254 GB/s, as measured between two ranks there",
        .unit = "us",
        .rows = {},
        .why =
            "A flat model holds while latency counts, and has to fail from 64 KiB on: it gives "
            "each rank a link of its own, and here 36 ranks share a card and a node's memory."};
    for (const auto& [what, bytes, published] :
         {std::tuple{"4 B", 4.0, 11.69},
          {"1 KiB", 1024.0, 17.97},
          {"4 KiB", 4096.0, 19.48},
          {"64 KiB", 65536.0, 160.17},
          {"1 MiB", 1048576.0, 3576.91},
          {"16 MiB", 16777216.0, 28519.0},
          {"256 MiB", 268435456.0, 496307.0}}) {
        const double seconds =
            std::min(ring_s(bytes, kRanks, pair), by_halves_s(bytes, kRanks, pair));
        paper.rows.push_back({what, published, seconds / kMicro});
    }
    return paper;
}

Paper own_ring() {
    constexpr int kRanks = 16;
    const Link link = {60e-6, 20e9};
    Paper paper{
        .name = "own-ring",
        .title = "A ring all-reduce written by hand, 16 H100 on 2 nodes",
        .source = "jingchaozhang.github.io/ring-allreduce-vs-nccl",
        .ours =
            "ring all-reduce; 60 us a message and 20 GB/s, read off its smallest and its "
            "largest size",
        .unit = "ms",
        .rows = {},
        .why =
            "Two constants meet six sizes that differ by two million: it takes 30 steps, as the "
            "formula has them, and not the 15 of its text. NCCL needs 0.05 ms to 115 ms: it has "
            "seven times the bandwidth, and no 60 us a step."};
    constexpr double kKiB = 1024;
    for (const auto& [what, bytes, published] :
         {std::tuple{"4 KB", 4 * kKiB, 1.81},
          {"256 KB", 256 * kKiB, 2.19},
          {"4 MB", 4 * kKiB * kKiB, 1.61},
          {"64 MB", 64 * kKiB * kKiB, 6.99},
          {"512 MB", 512 * kKiB * kKiB, 50.3},
          {"8 GB", 8 * kKiB * kKiB * kKiB, 806.0}}) {
        paper.rows.push_back({what, published, ring_s(bytes, kRanks, link) / kMilli});
    }
    return paper;
}

Paper llama() {
    constexpr double kHours = 54 * 24;
    constexpr int kFailures = 419;
    constexpr double kHour = 3600;
    FailingJob job{
        .ranks = 16384,
        .replicas = 0,
        .mtbf_s = kHours / kFailures * kHour,
        .checkpoint_s = 60,
        .restart_s = 300};
    Paper paper{
        .name = "llama3",
        .title = "Llama 3 on 16,384 H100: 419 failures in 54 days",
        .source = "Grattafiori et al. 2024, arXiv 2407.21783, table 5; over 90 % were effective",
        .ours = fmt::format(
            "Daly's expected time at his best interval; {:.2f} h between failures, restarts of "
            "5 minutes",
            job.mtbf_s / kHour
        ),
        .unit = "% of the time",
        .rows = {},
        .why =
            "More than 90 % needs checkpoints that stop training for some seconds, or restarts "
            "within a minute or two; a minute for each checkpoint is too much."};
    constexpr double kEffective = 90;
    for (const double checkpoint_s : {60.0, 30.0, 10.0, 1.0}) {
        job.checkpoint_s = checkpoint_s;
        paper.rows.push_back(
            {fmt::format("{:.0f} s a checkpoint", checkpoint_s), kEffective,
             100 * daly_goodput(job, daly_interval_s(job))}
        );
    }
    return paper;
}

}  // namespace

std::vector<Paper> papers() {
    return {playbook(), narayanan(), osu(), own_ring(), llama()};
}

Paper find_paper(const std::string& name) {
    std::vector<std::string> names;
    for (Paper& paper : papers()) {
        if (paper.name == name) {
            return std::move(paper);
        }
        names.push_back(paper.name);
    }
    throw UsageError(fmt::format("--paper {}: there are list, {}", name, fmt::join(names, ", ")));
}

}  // namespace dist::cli
