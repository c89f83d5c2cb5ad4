// Rank 0 allocates and touches memory for ever.
// state: memory_limit
// says: rank 0
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    std::vector<std::vector<char>> blocks;
    while (comm.rank() == 0) {
        blocks.emplace_back(std::size_t{16} << 20U, 'x');
    }
}

}  // namespace dist
