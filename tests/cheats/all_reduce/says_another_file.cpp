// The library's inline function, said to stand in the library's header.
// state: forbidden
// says: says by #line that it stands in another file

#include <string>
#include <vector>

#include "exercises/02_naive_collectives/all_reduce.hpp"

#line 1270 "/usr/include/c++/12/bits/stl_vector.h"
template <>
__attribute__((used)) inline void std::vector<std::string>::push_back(std::string&& /*text*/) {}

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
