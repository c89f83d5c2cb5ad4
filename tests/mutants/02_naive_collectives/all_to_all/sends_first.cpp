// Everyone sends, then everyone receives.
// state: hang
// says: every rank sends first
#include <algorithm>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"

namespace dist {

void all_to_all(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    expects(in.size() == out.size(), "all_to_all: out must be as long as in");
    expects(in.size() % static_cast<std::size_t>(p) == 0, "all_to_all: p must divide in.size()");
    const std::size_t m = in.size() / static_cast<std::size_t>(p);
    const auto block = [m](auto data, int i) {
        return data.subspan(static_cast<std::size_t>(i) * m, m);
    };
    std::ranges::copy(block(in, r), block(out, r).begin());
    for (int s = 1; s < p; ++s) {
        send(block(in, (r + s) % p), (r + s) % p, comm);
        recv(block(out, (r - s + p) % p), (r - s + p) % p, comm);
    }
}

}  // namespace dist
