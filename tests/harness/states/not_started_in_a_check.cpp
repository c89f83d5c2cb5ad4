// A stub that is called inside a check: not started, and not a failed check.
// state: not_started
// says: state is not implemented yet
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

namespace {
bool stub() {
    throw NotImplemented("state");
}
}  // namespace

void state(const Communicator& /*comm*/) {
    CHECK(stub());
}

}  // namespace dist
