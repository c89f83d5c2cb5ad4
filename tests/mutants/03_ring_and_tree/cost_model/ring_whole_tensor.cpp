// Each message of the ring carries all of the tensor.
// state: fail
// says: a message of the ring carries K/p bytes
#include <algorithm>
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
            return {2.0 * (p - 1), 2.0 * (p - 1), 1.0 * (p - 1)};
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
    const auto other_size = [&](const Measurement& m) { return m.bytes != points[0].bytes; };
    expects(std::ranges::any_of(points, other_size), "fit: it takes two different sizes");
    double weights = 0.0;
    double mean_bytes = 0.0;
    double mean_s = 0.0;
    for (const auto& [bytes, seconds] : points) {
        expects(seconds > 0.0, "fit: every time must be above 0");
        const double weight = 1.0 / (seconds * seconds);
        weights += weight;
        mean_bytes += weight * static_cast<double>(bytes);
        mean_s += weight * seconds;
    }
    mean_bytes /= weights;
    mean_s /= weights;
    double rise = 0.0;  // the line goes through the means; its slope is rise / run
    double run = 0.0;
    for (const auto& [bytes, seconds] : points) {
        const double weight = 1.0 / (seconds * seconds);
        const double beyond = static_cast<double>(bytes) - mean_bytes;
        rise += weight * beyond * (seconds - mean_s);
        run += weight * beyond * beyond;
    }
    return {mean_s - rise / run * mean_bytes, rise / run};
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
