// An object whose constructor is never done.
// state: time_limit crash

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace {

struct Endless {
    Endless() {
        for (volatile int i = 0;; i = i + 1) {
        }
    }
} endless;

}  // namespace

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
