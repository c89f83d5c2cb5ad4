#include "exercises/06_ddp/autograd_hooks.hpp"

#include "course/nn/gradient_hook.hpp"

namespace dist {

CommHook all_reduce_hook(const Communicator& comm) {
    throw NotImplemented("autograd_hooks");
}

struct Reducer::State {
    // TODO: what you have to know between two calls. nn::GradientHook tells you that a parameter's gradient
    // is there. Which bucket may leave then, and when has a bucket that is full to wait?
};

Reducer::Reducer(
    std::vector<at::Tensor> parameters,
    std::vector<std::size_t> limits,
    CommHook hook,
    const Communicator& comm
)
    : state_(new State) {
    throw NotImplemented("autograd_hooks");
}

Reducer::~Reducer() = default;

void Reducer::prepare_for_backward(std::span<const std::size_t> unused) {
    throw NotImplemented("autograd_hooks");
}

void Reducer::finalize_backward() {
    throw NotImplemented("autograd_hooks");
}

const std::vector<Bucket>& Reducer::buckets() const {
    throw NotImplemented("autograd_hooks");
}

}  // namespace dist
