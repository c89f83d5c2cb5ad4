// How the bench takes its times: every algorithm in turn, in an order drawn anew for each round, in one
// set of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/runtime/buffer.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// How long to measure.
struct Effort {
    double budget_s = 0.5;        // for each size and algorithm, everything included
    int iterations = 0;           // exactly so many instead; 0: what the budget allows
    bool keep_disturbed = false;  // ranks share cores: no iteration would be left otherwise
};

/// What was measured of one algorithm at one size.
struct Point {
    std::string algorithm;
    std::string chose;  // by `auto`: the algorithm that it ran
    std::size_t size_bytes = 0;
    double min_s = 0.0;
    double median_s = 0.0;
    double p95_s = 0.0;
    long clean = 0;  // iterations in which no rank was disturbed
    long run = 0;    // all
    long wrong = 0;  // elements that differ from the expected result, over all iterations and ranks
};

/// This rank's data: three buffers as long as the largest size, on huge pages.
class Workspace {
  public:
    /// n     elements of the largest size.
    /// seed  of the inputs: seeded_data(n, rank, seed).
    Workspace(
        const Collective& collective, std::size_t n, const Communicator& comm, std::uint64_t seed
    );

    /// Memory for n elements.
    std::span<float> data(std::size_t n) { return data_.span().first(n); }

    /// This rank's input, n elements.
    [[nodiscard]] std::span<const float> input(std::size_t n) const {
        return input_.span().first(n);
    }

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
    Buffer data_;
    Buffer input_;
    Buffer expected_;
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

/// Measures all algorithms at one size, round-robin: each round calls every one once, on input just
/// rewritten. Time of a call: the maximum over ranks. An iteration in which any rank
/// was disturbed is dropped; where an algorithm has fewer than 5 others, all count, of every
/// algorithm.
///
/// chosen    what `auto` is to run; nullptr if it is not among the algorithms.
/// progress  told the fraction done, on every rank.
/// Every rank makes this call; all get the same points, in the order of the algorithms.
std::vector<Point> measure_size(
    const std::vector<Algorithm>& algorithms,
    std::size_t size_bytes,
    const Effort& effort,
    Workspace& workspace,
    Run chosen,
    const Communicator& comm,
    const std::function<void(double)>& progress
);

}  // namespace dist::lab
