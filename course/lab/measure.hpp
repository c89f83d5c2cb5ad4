// How the bench takes its times: every algorithm in turn, in an order drawn anew for each round, in one
// set of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/lab/blocks.hpp"
#include "course/runtime/buffer.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// How long to measure.
struct Effort {
    double budget_s = 0.5;        // for each size and algorithm, everything included
    double limit_s = 3.0;         // at most, where the times have not settled by then
    int iterations = 0;           // exactly so many instead; 0: what the budget allows
    int warm_ups = 2;             // calls before the first that counts
    bool keep_disturbed = false;  // ranks share cores: no iteration would be left otherwise
    std::function<void()> before_block = [] {};
};

/// What was measured of one algorithm at one size. Seconds are those of the slowest rank.
struct Point {
    std::string algorithm;
    std::string chose;  // by `auto`: the algorithm that it ran
    std::size_t size_bytes = 0;
    bool between = false;  // nobody asked for this size: it closes in on a crossing
    double min_s = 0.0;
    double median_s = 0.0;
    double p95_s = 0.0;
    double fastest_rank_s = 0.0;     // median; ...
    double mean_over_ranks_s = 0.0;  // ... and of the ranks' mean
    long clean =
        0;  // iterations in which neither a rank lost its core nor others took a part of the cores
    long run = 0;    // all
    long wrong = 0;  // elements that differ from the expected result, over all iterations and ranks
    std::string unsettled = {};  // why the times are not to be trusted; empty: they are
    std::optional<Interval> vs_naive =
        {};  // naive's time over this one; nothing where naive was not measured
    std::optional<Interval> vs_mpi = {};
    std::optional<Interval> rounds_vs_naive = {};  // half_of_rounds
    double others = 0.0;                           // others_took
};

/// This rank's data: three buffers as long as the largest size, on huge pages.
class Workspace {
  public:
    /// n     elements of the largest size.
    /// seed  of the inputs: contribution(n, rank, seed, op).
    /// op    what a reduction does with them.
    Workspace(
        const Collective& collective,
        std::size_t n,
        const Communicator& comm,
        std::uint64_t seed,
        ReduceOp op = ReduceOp::sum
    );

    [[nodiscard]] ReduceOp op() const { return op_; }

    /// Memory for n elements.
    std::span<float> data(std::size_t n) { return data_.span().first(n); }

    /// This rank's input, n elements.
    [[nodiscard]] std::span<const float> input(std::size_t n) const {
        return input_.span().first(n);
    }

    /// From here on ranks have nodes of so many, in a row. Every rank of `comm` makes this call.
    void deal_out(int per_node, const Communicator& comm);

    /// Of this rank; nullptr where ranks have none.
    [[nodiscard]] const Nodes* nodes() const { return nodes_ ? &*nodes_ : nullptr; }

    /// From here on results of n elements are looked at.
    void expect(std::size_t n);

    /// Writes this rank's input into `data`, here or elsewhere.
    void rewrite(std::span<float> data) const;

    /// How many elements are not what they must be.
    [[nodiscard]] long wrong(std::span<const float> data) const;

  private:
    const Collective& collective_;
    int p_;
    int rank_;
    std::uint64_t seed_;
    ReduceOp op_;
    Buffer data_;
    Buffer input_;
    Buffer expected_;
    std::optional<Nodes> nodes_;
};

/// One timed call on this rank: ranks are aligned first by two barriers.
///
/// seconds    by this rank's clock.
/// disturbed  the kernel took the core away from this rank meanwhile.
struct Sample {
    double seconds = 0.0;
    bool disturbed = false;
};
Sample time_call(const Communicator& comm, const std::function<void()>& call);

/// The largest of the ranks' values, on every rank.
double slowest(double seconds, const Communicator& comm);

/// All calls at one size, and how many elements were wrong over all ranks: by algorithm.
struct Measurements {
    std::vector<Block> blocks;
    std::vector<long> wrong;
};

/// Measures all algorithms at one size, round-robin: each round calls every one once, in a new order, on input just
/// rewritten. The budget is cut into 20 blocks of time. When it is spent, and the times of an algorithm have not
/// settled (see blocks.hpp), this goes on until they have, or the limit is reached.
///
/// chosen    what `auto` is to run; nullptr if it is not among the algorithms.
/// progress  told the fraction done, on every rank.
/// Every rank makes this call; all get the same, in the order of the algorithms.
Measurements measure_size(
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes,
    const Effort& effort,
    Workspace& workspace,
    Run chosen,
    const Communicator& comm,
    const std::function<void(double)>& progress
);

/// What a table says of them: medians over the clean iterations; over all, where no algorithm has 5 of these or more.
std::vector<Point> points_of(
    const Measurements& measurements,
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes
);

}  // namespace dist::lab
