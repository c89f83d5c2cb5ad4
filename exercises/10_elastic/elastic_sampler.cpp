#include "exercises/10_elastic/elastic_sampler.hpp"

#include "exercises/05_data_parallel/distributed_sampler.hpp"

namespace dist {

ElasticSampler::ElasticSampler(std::size_t n, std::size_t batch, std::uint64_t seed)
    : n_(n), batch_(batch), seed_(seed) {
    // TODO: check the arguments. Then share(): how many examples has this step, which of them are this rank's,
    // and where is training after it? And examples(): a DistributedSampler of one rank knows the order.
    throw NotImplemented("elastic_sampler");
}

ElasticShare ElasticSampler::share(const EpochPosition& at, int rank, int ranks) const {
    throw NotImplemented("elastic_sampler");
}

std::vector<std::size_t> ElasticSampler::examples(const EpochPosition& at, int rank, int ranks) {
    throw NotImplemented("elastic_sampler");
}

}  // namespace dist
