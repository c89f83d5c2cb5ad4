// The fit moves the origin to the first point, and solves there; the rest as the reference.
#include <bit>
#include <cmath>

#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist {
namespace {

/// What an algorithm does in a row, on p ranks.
struct InARow {
    double messages;
    double tensors;  // bytes that travel, as a multiple of the tensor's
    double added;    // bytes that are added up, likewise
};

InARow in_a_row(AllReduceAlgorithm algorithm, int p) {
    expects(p >= 1, "cost_model: p must be at least 1");
    const unsigned q = std::bit_floor(static_cast<unsigned>(p));
    const double steps = std::bit_width(q) - 1;  // log2 q
    const double fold = q == static_cast<unsigned>(p) ? 0 : 2;
    switch (algorithm) {
        case AllReduceAlgorithm::naive:
            return {2.0 * (p - 1), 2.0 * (p - 1), 1.0 * (p - 1)};
        case AllReduceAlgorithm::ring:
            return {2.0 * (p - 1), 2.0 * (p - 1) / p, 1.0 * (p - 1) / p};
        case AllReduceAlgorithm::recursive_doubling:
            return {steps + fold, steps + fold, steps + fold / 2};
        case AllReduceAlgorithm::halving_doubling:
            return {2 * steps + fold, 2.0 * (q - 1) / q + fold, 1.0 * (q - 1) / q + fold / 2};
    }
    throw std::invalid_argument("cost_model: no such algorithm");
}

}  // namespace

double predicted_s(AllReduceAlgorithm algorithm, std::size_t bytes, int p, LinkCost link) {
    const auto [messages, tensors, added] = in_a_row(algorithm, p);
    const double byte_s = tensors * link.beta_s_per_byte + added * link.gamma_s_per_byte;
    return messages * link.alpha_s + static_cast<double>(bytes) * byte_s;
}

LinkCost fit(std::span<const Measurement> points) {
    double w = 0.0;
    double x = 0.0;
    double y = 0.0;
    double xx = 0.0;
    double xy = 0.0;
    for (const Measurement& m : points) {
        expects(m.seconds > 0.0, "fit: every time must be above 0");
        const double weight = 1.0 / m.seconds / m.seconds;
        const double dx = static_cast<double>(m.bytes) - static_cast<double>(points[0].bytes);
        const double dy = m.seconds - points[0].seconds;
        w += weight;
        x += weight * dx;
        y += weight * dy;
        xx += weight * dx * dx;
        xy += weight * dx * dy;
    }
    expects(xx > 0.0, "fit: two sizes at least");
    const double beta = (w * xy - x * y) / (w * xx - x * x);
    const double at_first = points[0].seconds + (y - beta * x) / w;
    return {at_first - beta * static_cast<double>(points[0].bytes), beta};
}

std::optional<std::size_t> crossover_bytes(
    AllReduceAlgorithm a, AllReduceAlgorithm b, int p, LinkCost link
) {
    const InARow of_a = in_a_row(a, p);
    const InARow of_b = in_a_row(b, p);
    // b starts later by `behind`, and gains `gained` with each byte
    const double behind = (of_b.messages - of_a.messages) * link.alpha_s;
    const double gained = (of_a.tensors - of_b.tensors) * link.beta_s_per_byte +
                          (of_a.added - of_b.added) * link.gamma_s_per_byte;
    if (gained < 0.0 || (gained == 0.0 && behind > 0.0)) {
        return std::nullopt;
    }
    return behind <= 0.0 ? 0 : static_cast<std::size_t>(std::ceil(behind / gained));
}

}  // namespace dist
