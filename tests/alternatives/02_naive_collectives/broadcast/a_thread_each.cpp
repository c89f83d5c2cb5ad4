// A thread for each rank that the root sends to; what one throws comes out of get().
#include <future>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    if (comm.rank() != root) {
        recv(data, root, comm);
        return;
    }
    std::vector<std::future<void>> senders;
    for (int dst = 0; dst < comm.size(); ++dst) {
        if (dst != root) {
            senders.push_back(std::async(std::launch::async, [&, dst] { send(data, dst, comm); }));
        }
    }
    for (std::future<void>& sender : senders) {
        sender.get();
    }
}

}  // namespace dist
