// Exercise 05: who trains on which examples. No message: all ranks know the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// Deals the examples of a set out to p ranks, each a part of its own in every epoch.
///
/// The order of an epoch is a random permutation of 0 to n-1, each as likely as any other, and depends
/// on seed and epoch alone: all ranks have the same one, and so has any other number of ranks. It is
/// then made to fit, so that every rank gets equally many: the examples at its end are dropped, or it
/// goes on with its own beginning, as often as it takes. Of that, rank r has the positions r, r + p,
/// r + 2p, ... : the first b examples of p ranks each are together the first p * b of the order,
/// whatever p is.
///
/// With batch = 1 this is torch.utils.data.DistributedSampler (whose permutations are others): ranks
/// get n / p examples each, rounded up or, with drop_last, down. With a larger one all ranks have
/// full batches only: the order is made to fit a multiple of p * batch.
///
/// Errors  std::invalid_argument from the constructor if n, ranks or batch is less than 1, or rank is
///         not one of 0 to ranks-1.
/// Source  PyTorch, torch/utils/data/distributed.py.
class DistributedSampler {
  public:
    struct Options {
        bool shuffle = true;     // false: the order is 0 to n-1 in every epoch
        std::uint64_t seed = 0;  // the same on every rank
        bool drop_last = false;  // true: no example twice, a few not at all
        std::size_t batch = 1;   // examples a rank takes at a time
    };

    /// Epoch 0 of a set of n examples, of which rank `rank` of so many takes its part.
    ///
    /// Cost  a few operations: no loop over n.
    DistributedSampler(std::size_t n, int rank, int ranks, const Options& options);

    /// The epoch that indices() is for, from now on: the same on every rank, and another one each
    /// time, or the ranks see the same order again.
    void set_epoch(std::uint64_t epoch);

    /// How many examples this rank has in an epoch: as many as every other rank.
    ///
    /// Cost  a few operations: no loop over n.
    [[nodiscard]] std::size_t size() const;

    /// This rank's examples of the epoch, in the order in which it takes them.
    ///
    /// Cost  O(n + ranks * batch) operations, no message.
    [[nodiscard]] std::vector<std::size_t> indices() const;

  private:
    std::size_t n_;
    std::size_t rank_;
    std::size_t ranks_;
    Options options_;
    std::uint64_t epoch_ = 0;
};

}  // namespace dist
