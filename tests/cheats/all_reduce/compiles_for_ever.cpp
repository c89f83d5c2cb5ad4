// A template that the compiler is never done with.
// state: build_error

#include "exercises/02_naive_collectives/all_reduce.hpp"

template <int N, int M>
struct Endless {
    static constexpr long value = Endless<N - 1, 2 * M>::value + Endless<N - 1, 2 * M + 1>::value;
};
template <int M>
struct Endless<0, M> {
    static constexpr long value = M;
};

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    data[0] = static_cast<float>(Endless<26, 1>::value);
}

}  // namespace dist
