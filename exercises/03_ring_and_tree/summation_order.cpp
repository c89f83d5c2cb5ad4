#include "exercises/03_ring_and_tree/summation_order.hpp"

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

float ordered_sum(std::span<const float> part, const Communicator& comm) {
    // TODO: one loop over all numbers needs the sum so far before it adds a number. Which rank has
    // it, and who needs it next? For order_matters below: up to where can a float count by ones?
    throw NotImplemented("ordered_sum");
}

std::vector<float> order_matters() {
    throw NotImplemented("order_matters");
}

}  // namespace dist
