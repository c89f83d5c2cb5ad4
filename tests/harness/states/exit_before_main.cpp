// A static object ends the program before main() begins.
// state: early_exit
// says: before

#include <cstdlib>

#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

struct Ender {
    Ender() { std::exit(0); }
};
const Ender ender;

}  // namespace

void state(const Communicator& comm) {
    (void)comm;
}

}  // namespace dist
