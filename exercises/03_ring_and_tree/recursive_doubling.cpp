#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    // TODO: exchange all of data with rank r ^ d and add, for d = 1, 2, 4, ... Begin with p a power
    // of two. What must happen before and after, so that ranks without a partner take part as well?
    throw NotImplemented("recursive_doubling_all_reduce");
}

}  // namespace dist
