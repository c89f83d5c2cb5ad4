// A main() of its own, which would take the test's place.
// state: build_error
// says: main

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    (void)comm;
}

}  // namespace dist

int main() {
    return 0;
}
