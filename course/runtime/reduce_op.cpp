#include "course/runtime/reduce_op.hpp"

#include <algorithm>
#include <functional>

#include "course/runtime/error.hpp"
#ifdef SHARDLINGS_SIMULATED
#include "course/runtime/simulated_time.hpp"
#endif

namespace dist {

const char* name(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return "sum";
        case ReduceOp::mean:
            return "mean";
        case ReduceOp::product:
            return "product";
        case ReduceOp::min:
            return "min";
        case ReduceOp::max:
            return "max";
    }
    return "?";
}

#if defined(__x86_64__) && defined(__OPTIMIZE__)
// compiled once for each set of vector instructions; the processor's best is taken at the start
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void Accumulate::operator()(
    std::span<const float> in, std::span<float> accumulated, ReduceOp op
) const {
    expects(in.size() == accumulated.size(), "accumulate: both spans must have the same length");
#ifdef SHARDLINGS_SIMULATED
    take_time_to_add(in.size_bytes());
    if (has_no_values(accumulated.data())) {
        return;
    }
#endif
    const auto combine = [&](auto&& operation) {
        std::transform(
            accumulated.begin(), accumulated.end(), in.begin(), accumulated.begin(), operation
        );
    };
    switch (op) {
        case ReduceOp::sum:
        case ReduceOp::mean:
            return combine(std::plus<>{});
        case ReduceOp::product:
            return combine(std::multiplies<>{});
        case ReduceOp::min:
            return combine([](float a, float b) { return std::min(a, b); });
        case ReduceOp::max:
            return combine([](float a, float b) { return std::max(a, b); });
    }
}

void scale(std::span<float> data, float factor) {
    for (float& x : data) {
        x *= factor;
    }
}

}  // namespace dist
