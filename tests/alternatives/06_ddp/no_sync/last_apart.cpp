// The last micro-batch apart; backward begins with a k-th, and the losses are added up in double.
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include "exercises/06_ddp/no_sync.hpp"

namespace dist {

namespace {

/// Where a pass has ended already, it does nothing.
struct Forgotten {
    Reducer& reducer;
    ~Forgotten() {
        try {
            reducer.finalize_backward();
        } catch (...) {
        }
    }
};

}  // namespace

at::Tensor accumulate_gradients(Reducer& reducer, std::span<const MicroBatch> micro_batches) {
    if (micro_batches.empty()) {
        throw std::invalid_argument("accumulate_gradients: no micro-batch");
    }
    const double part = 1.0 / static_cast<double>(micro_batches.size());
    double sum = 0;
    for (const MicroBatch& micro_batch : micro_batches.first(micro_batches.size() - 1)) {
        const at::Tensor loss = micro_batch();
        loss.backward(at::full_like(loss, part));
        sum += loss.item<double>();
    }
    const at::Tensor loss = micro_batches.back()();
    reducer.prepare_for_backward();
    const Forgotten at_the_end{reducer};
    loss.backward(at::full_like(loss, part));
    reducer.finalize_backward();
    return at::full({}, (sum + loss.item<double>()) * part, at::kFloat);
}

}  // namespace dist
