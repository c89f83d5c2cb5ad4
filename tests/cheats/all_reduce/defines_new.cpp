// The same for operator new.
// state: forbidden
// says: count what is allocated

#include <cstdlib>
#include <new>

#include "exercises/02_naive_collectives/all_reduce.hpp"

void* operator new(std::size_t bytes) {
    return std::malloc(bytes);
}
void operator delete(void* place) noexcept {
    std::free(place);
}
void operator delete(void* place, std::size_t /*bytes*/) noexcept {
    std::free(place);
}

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
