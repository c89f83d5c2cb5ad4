#include "exercises/06_ddp/compressed_gradients.hpp"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace dist {

void compressed_all_reduce(const at::Tensor& flat, const Communicator& comm) {
    // TODO: a tensor (p, columns) of bfloat16, whose row r is rank r's to add up; columns are even. Your
    // collectives carry floats: two bfloat16 have the bytes of one. Which collective sends each rank its
    // row, and which collects the sums?
    throw NotImplemented("compressed_gradients");
}

CommHook compressed_hook(const Communicator& comm) {
    throw NotImplemented("compressed_gradients");
}

CommHook error_feedback_hook(const Communicator& comm) {
    // a list of pairs, `flat` and its residual, which the hook's copies share (std::shared_ptr). Is it
    // this one? a.is_same(b). Does anybody else hold it? a.use_count()
    throw NotImplemented("compressed_gradients");
}

}  // namespace dist
