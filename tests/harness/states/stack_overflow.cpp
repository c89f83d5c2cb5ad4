// Rank 0 calls itself for ever.
// state: crash
// says: rank 0
// says: SIGSEGV: its stack is full
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

int deeper(int depth) {  // NOLINT: the recursion is the point
    volatile char room[1000] = {};
    return depth == 0 ? room[0] : deeper(depth + 1) + room[1];
}

}  // namespace

void state(const Communicator& comm) {
    if (comm.rank() == 0 && deeper(1) == 1) {
        throw Error("never");
    }
}

}  // namespace dist
