// Starts all receives at once, waits for them together, adds, and sends.
#include <algorithm>
#include <vector>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_reduce: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };
    Buffer partial(data.size());  // data itself stays as it was but on the root
    std::ranges::copy(data, partial.data());

    int d = 1;  // the distance of this place's own message; places further on come in before
    while (d <= place) {
        d *= 2;
    }
    std::vector<Buffer> arrivals;
    std::vector<Request> requests;
    for (int child = d; place + child < p; child *= 2) {
        arrivals.emplace_back(data.size());
        requests.push_back(irecv(arrivals.back().span(), rank_at(place + child), comm));
    }
    wait_all(requests);
    for (const Buffer& arrival : arrivals) {
        accumulate(arrival.span(), partial.span(), op);
    }
    if (place > 0) {
        send(partial.span(), rank_at(place - d / 2), comm);
    }
    if (place == 0) {
        std::ranges::copy(partial.span(), data.begin());
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
}

}  // namespace dist
