// Who trains on which pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist::data {

/// Deals a shuffled set out to the ranks, a batch each at a time.
///
/// The order of an epoch depends on seed and epoch alone. Step b's global batch is its pictures
/// b * p * batch up to (b+1) * p * batch, of which rank r gets every p-th, beginning with the r-th:
/// so p ranks with `batch` pictures each see the same global batch as one rank with p * batch. The
/// last global batch is filled up with the first pictures of the epoch's order: every picture is
/// used, and a few are used twice.
///
/// Source  torch.utils.data.DistributedSampler, which deals and fills up in the same way.
class DistributedSampler {
  public:
    /// n      pictures in the set, n > 0.
    /// batch  pictures a rank gets at a time, batch > 0.
    ///
    /// Errors std::invalid_argument if a number is out of range.
    DistributedSampler(std::size_t n, int rank, int ranks, std::size_t batch, std::uint64_t seed);

    /// Shuffles anew. Call it at the start of every epoch, with the same number on every rank.
    void set_epoch(std::uint64_t epoch);

    /// Steps in an epoch: n / (p * batch), rounded up.
    [[nodiscard]] std::size_t steps() const;

    /// The numbers of this rank's `batch` pictures in step `step` of the epoch, 0 <= step <
    /// steps().
    [[nodiscard]] std::vector<std::size_t> batch(std::size_t step) const;

  private:
    std::vector<std::size_t> order_;
    std::size_t rank_;
    std::size_t ranks_;
    std::size_t batch_;
    std::uint64_t seed_;
};

}  // namespace dist::data
