// Right where each rank has variables of its own, those of inline functions and templates, too: they number its calls, and
// the number is the tag.
// state: pass
#include <utility>

#include <mpi.h>

#include "exercises/01_point_to_point/ring_shift.hpp"

namespace {

inline int& calls() {
    static int all = 0;
    return all;
}

template <class T>
struct Counted {
    static inline T calls = 0;
};

}  // namespace

namespace dist {

inline int& shared_by_files() {
    static int all = 0;
    return all;
}

void ring_shift(
    std::span<const float> to_next, std::span<float> from_prev, const Communicator& comm
) {
    expects(std::in_range<int>(to_next.size()), "ring_shift: to_next is too long for an int");
    expects(std::in_range<int>(from_prev.size()), "ring_shift: from_prev is too long for an int");
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() + p - 1) % p;
    const int tag = (++calls() + ++Counted<int>::calls + ++shared_by_files()) % 10000;
    MPI_CHECK(MPI_Sendrecv(
        to_next.data(), static_cast<int>(to_next.size()), MPI_FLOAT, next, tag,  //
        from_prev.data(), static_cast<int>(from_prev.size()), MPI_FLOAT, prev, tag, comm.handle(),
        MPI_STATUS_IGNORE
    ));
}

}  // namespace dist
