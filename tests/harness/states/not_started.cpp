// The stub: throws on every rank.
// state: not_started
// says: state is not implemented yet
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    (void)comm;
    throw NotImplemented("state");
}

}  // namespace dist
