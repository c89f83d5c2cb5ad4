#include "course/lab/bound.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "course/lab/exchange.hpp"

namespace dist::lab {

double LowerBound::seconds(std::size_t size_bytes) const {
    if (p == 1) {
        return 0.0;
    }
    double best_bytes_per_s = 0.0;
    const std::size_t message_bytes = size_bytes / static_cast<std::size_t>(p);
    for (const auto& [bytes, bytes_per_s] : bytes_per_s_of_message) {
        if (bytes >= message_bytes) {
            best_bytes_per_s = std::max(best_bytes_per_s, bytes_per_s);
        }
    }
    const auto rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(p - 1)));
    return std::max(
        rounds * alpha_s, bus_factor * static_cast<double>(size_bytes) / best_bytes_per_s
    );
}

LowerBound probe_lower_bound(
    const Collective& collective,
    const std::vector<std::size_t>& sizes_bytes,
    double budget_s,
    const Communicator& comm
) {
    const int p = comm.size();
    LowerBound bound{.p = p, .bus_factor = collective.bus_factor(p), .bytes_per_s_of_message = {}};
    if (p == 1) {
        return bound;
    }
    std::set<std::size_t> messages_n{1, (std::size_t{1} << 20U) / sizeof(float)};
    for (const std::size_t size_bytes : sizes_bytes) {
        const std::size_t n = size_bytes / sizeof(float);
        messages_n.insert((n + static_cast<std::size_t>(p) - 1) / static_cast<std::size_t>(p));
    }
    for (const std::size_t n : messages_n) {
        const double seconds = std::ranges::min(exchanges_s(n, budget_s, comm));
        bound.bytes_per_s_of_message[n * sizeof(float)] =
            static_cast<double>(n * sizeof(float)) / seconds;
        if (n == 1) {
            bound.alpha_s = seconds;
        }
    }
    return bound;
}

}  // namespace dist::lab
