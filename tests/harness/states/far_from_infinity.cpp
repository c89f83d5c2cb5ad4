// 0 where infinity is right, compared with a tolerance: nothing is near infinity, nor is it near to be suspected.
// state: fail
// says: expected inf, got 0 (1 of 2 differs)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <cmath>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& /*comm*/) {
    const std::vector<float> got = {0, 1};
    const std::vector<float> expected = {INFINITY, 1};
    CHECK(harness::same(got, expected, 1e-6));
}

}  // namespace dist
