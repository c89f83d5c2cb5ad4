// The same word, made of two.
// state: forbidden
// says: ##

#include "exercises/02_naive_collectives/all_reduce.hpp"

#define JOINED(a, b) a##b

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    long result = 0;
    JOINED(as, m) volatile("syscall" : "=a"(result) : "a"(39L) : "rcx", "r11", "memory");
    static_cast<void>(result);
}

}  // namespace dist
