// Exercise 10: which examples come next, where the number of ranks changes in the middle of an epoch. No message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "course/runtime/error.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

/// How far training is: all that a snapshot has to keep of it. It means the same for any number of ranks.
struct EpochPosition {
    std::uint64_t epoch = 0;
    std::size_t consumed = 0;  // examples of this epoch that all ranks together have trained on

    bool operator==(const EpochPosition&) const = default;
};

/// What one rank has to do in a step.
struct ElasticShare {
    Chunk places;        // of its examples in the order of the epoch; empty where a rank gets none
    double weight = 0;   // its examples, divided by those of all ranks in this step
    EpochPosition next;  // after this step, the same on every rank
};

/// Deals the examples of a set out to ranks whose number may change before any step.
///
/// The order of an epoch is what DistributedSampler gives to one rank alone: a random permutation of 0 to n-1
/// that depends on n, seed and epoch. Ranks and their number have no part in it.
///
/// A step takes the next `batch` examples of that order, or as many as are left: an epoch has each example
/// exactly once. Chunk r of them, as chunk_bounds cuts, is rank r's. So a step trains on the same examples for
/// any number of ranks. Its gradient is the sum over all ranks of weight times the mean gradient of a rank's
/// examples; who has none adds zeros.
///
/// Source  Horovod, horovod/torch/elastic/sampler.py, which keeps one order as well. PyTorch's
///         torch/distributed/elastic/utils/data/elastic_distributed_sampler.py makes a new one of what is left.
class ElasticSampler {
  public:
    /// n      examples of the set, >= 1.
    /// batch  examples that all ranks together take in a step, >= 1; may be larger than n.
    /// seed   the same on every rank.
    ///
    /// Errors  std::invalid_argument if n or batch is 0.
    ElasticSampler(std::size_t n, std::size_t batch, std::uint64_t seed);

    /// Computes what rank `rank` of so many has to do in the step at this position.
    ///
    /// at      any position, also in the middle of what would be a batch; at.consumed < n. The end of an epoch
    ///         is the beginning of the next: `next` is never at n.
    ///
    /// Cost    a few operations: no loop over n, batch or ranks, and no order.
    /// Errors  std::invalid_argument if at.consumed >= n, or rank is not one of 0 to ranks-1.
    [[nodiscard]] ElasticShare share(const EpochPosition& at, int rank, int ranks) const;

    /// Lists the examples at share(at, rank, ranks).places, in the order of the epoch.
    ///
    /// Cost    O(n) operations in the first call, and where the epoch is another than in the call before. All
    ///         other calls copy this rank's examples, and do no more.
    /// Errors  as share().
    [[nodiscard]] std::vector<std::size_t> examples(const EpochPosition& at, int rank, int ranks);

  private:
    std::size_t n_;
    std::size_t batch_;
    std::uint64_t seed_;
    std::vector<std::size_t> order_;            // of one epoch
    std::optional<std::uint64_t> order_epoch_;  // which one; none before the first call
};

}  // namespace dist
