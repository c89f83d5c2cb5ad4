// Rank 1 prints 100 MB.
// state: output_limit
// says: rank 1
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <cstdio>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    for (int i = 0; comm.rank() == 1 && i < 1'000'000; ++i) {
        std::printf("%099d\n", i);
    }
}

}  // namespace dist
