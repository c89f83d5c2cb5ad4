#include "exercises/05_data_parallel/distributed_sampler.hpp"

#include "course/runtime/seeded.hpp"

namespace dist {

DistributedSampler::DistributedSampler(std::size_t n, int rank, int ranks, const Options& options)
    : n_(n),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      options_(options) {
    // TODO: check the arguments; then write the other three. seeded_bits(seed, i) is the i-th random
    // number of the sequence that `seed` begins.
    throw NotImplemented("distributed_sampler");
}

void DistributedSampler::set_epoch(std::uint64_t epoch) {
    throw NotImplemented("distributed_sampler");
}

std::size_t DistributedSampler::size() const {
    throw NotImplemented("distributed_sampler");
}

std::vector<std::size_t> DistributedSampler::indices() const {
    throw NotImplemented("distributed_sampler");
}

}  // namespace dist
