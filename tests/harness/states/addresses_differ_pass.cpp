// What is allocated lies elsewhere on each rank: a pointer means nothing on another, though all were forked from one.
// state: pass

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

void expect_different(const void* memory, const std::string& what, const Communicator& comm) {
    const auto mine = reinterpret_cast<std::uintptr_t>(memory);
    std::array<std::uintptr_t, 4> all{};
    MPI_Allgather(&mine, 1, MPI_AINT, all.data(), 1, MPI_AINT, comm.handle());
    if (std::set(all.begin(), all.end()).size() != all.size()) {
        throw std::runtime_error(what + " lies in the same place on two ranks");
    }
}

}  // namespace

void state(const Communicator& comm) {
    expect_different(std::make_unique<int>(1).get(), "an int", comm);
    expect_different(std::make_unique<std::array<char, 3'000'000>>().get(), "a large array", comm);
    MPI_Win window = MPI_WIN_NULL;
    void* base = nullptr;
    MPI_Win_allocate_shared(
        1'000'000, 1, MPI_INFO_NULL, comm.handle(), static_cast<void*>(&base), &window
    );
    expect_different(base, "shared memory", comm);
    MPI_Win_free(&window);
}

}  // namespace dist
