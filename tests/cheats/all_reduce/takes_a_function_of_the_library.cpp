// A function of the C++ library, defined anew and weak: the program's own comes before the library's, also for the tests.
// state: forbidden
// says: _Rb_tree_insert_and_rebalance

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" __attribute__((weak)) void
_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool, void*, void*, void*) {}

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
