// A semicolon is missing.
// state: build_error
// says: does_not_compile.cpp:11
// says: expected

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    (void)comm
}

}  // namespace dist
