// Functions of the C++ library for a type of its own, and some of the library's that a compiler leaves in the object.
// state: pass

#include <functional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

struct Key {
    int rank = 0;
    bool operator==(const Key&) const = default;
};

}  // namespace dist

template <>
struct std::hash<dist::Key> {
    std::size_t operator()(const dist::Key& key) const noexcept {
        return std::hash<std::string>{}(std::to_string(key.rank));
    }
};

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    std::vector<float> all(comm.rank() == 0 ? data.size() * comm.size() : 0);
    gather(data, all, 0, comm);
    if (comm.rank() == 0) {
        std::unordered_map<Key, std::vector<float>> parts;
        for (int r = 0; r < comm.size(); ++r) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(data.size()) * r;
            parts[{r}].assign(begin, begin + static_cast<std::ptrdiff_t>(data.size()));
        }
        std::ostringstream text;
        text << "parts " << parts.size();
        std::string line = text.str().substr(0, 5) + ' ' + std::to_string(parts.size());
        line.append("!").replace(0, 1, "P");
        std::copy(parts[{0}].begin(), parts[{0}].end(), data.begin());
        for (int r = 1; r < comm.size(); ++r) {
            accumulate(parts[{r}], data, op);
        }
        if (op == ReduceOp::mean) {
            for (float& x : data) {
                x /= static_cast<float>(comm.size());
            }
        }
        expects(!line.empty(), "all_reduce: a line");
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
