// A scatter from every rank, one after the other: right, but the others wait meanwhile.
// state: fail
// says: in step s everyone sends to r + s while it receives from r - s
#include "exercises/02_naive_collectives/all_to_all.hpp"
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
    for (int root = 0; root < p; ++root) {
        scatter(in, block(out, root), root, comm);
    }
}

}  // namespace dist
