#include "exercises/06_ddp/no_sync.hpp"

namespace dist {

at::Tensor accumulate_gradients(Reducer& reducer, std::span<const MicroBatch> micro_batches) {
    // TODO: which of prepare, forward, backward and finalize happen k times, and which once?
    throw NotImplemented("no_sync");
}

}  // namespace dist
