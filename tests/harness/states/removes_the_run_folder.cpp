// Rank 1 removes the folder above the one that it runs in.
// state: fail
// says: it removed the run's folder

#include <filesystem>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        std::filesystem::remove_all(std::filesystem::current_path().parent_path());
    }
}

}  // namespace dist
