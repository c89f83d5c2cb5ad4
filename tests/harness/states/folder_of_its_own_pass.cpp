// Right: the ranks run in an empty folder of the run. One that clears where it stands clears nothing else.
// state: pass

#include <filesystem>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        CHECK(std::filesystem::is_empty(std::filesystem::current_path()));
    }
}

}  // namespace dist
