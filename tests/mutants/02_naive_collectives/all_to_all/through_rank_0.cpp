// All blocks go to rank 0, which sorts them.
// state: fail in sends one block to each other rank, and nothing through a third
// says: sends one block to each of the others
#include <algorithm>
#include <vector>

#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/02_naive_collectives/gather.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

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
    const std::size_t n = in.size();
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<float> all(r == 0 ? n * ranks : 0);
    std::vector<float> sorted(all.size());
    gather(in, all, 0, comm);
    for (std::size_t j = 0; j < all.size() / std::max<std::size_t>(n, 1); ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            sorted[(i / m) * n + j * m + i % m] = all[j * n + i];
        }
    }
    scatter(sorted, out, 0, comm);
}

}  // namespace dist
