// Starts a process by a function of the course that does so.
// state: forbidden
// says: tell_of_death

#include "course/runtime/last_words.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    tell_of_death();
}

}  // namespace dist
