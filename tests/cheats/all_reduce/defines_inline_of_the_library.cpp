// A function of the C++ library that the tests' own code calls, too, defined anew as an inline one: a linker keeps one of the two.
// state: forbidden
// says: that is a library's

#include <string>
#include <vector>

#include "exercises/02_naive_collectives/all_reduce.hpp"

template <>
__attribute__((used)) inline void std::vector<std::string>::push_back(std::string&& /*text*/) {}

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
