// Steps are counted by loops; the crossover asks predicted_s with links of one second; the fit solves
// the two normal equations.
#include <cmath>

#include "exercises/03_ring_and_tree/cost_model.hpp"

namespace dist {

double predicted_s(AllReduceAlgorithm algorithm, std::size_t bytes, int p, LinkCost link) {
    expects(p >= 1, "predicted_s: p must be at least 1");
    const auto k = static_cast<double>(bytes);
    const auto message_s = [&](double length) {
        return link.alpha_s + length * link.beta_s_per_byte;
    };
    double total = 0.0;
    if (algorithm == AllReduceAlgorithm::naive || algorithm == AllReduceAlgorithm::ring) {
        for (int step = 0; step < 2 * (p - 1); ++step) {
            const double length = algorithm == AllReduceAlgorithm::ring ? k / p : k;
            total += message_s(length);
            total += step < p - 1 ? length * link.gamma_s_per_byte : 0.0;
        }
        return total;
    }
    int q = 1;
    double piece = k;
    for (; 2 * q <= p; q *= 2) {
        piece /= 2;
        const bool whole = algorithm == AllReduceAlgorithm::recursive_doubling;
        total += whole ? message_s(k) : 2 * message_s(piece);
        total += (whole ? k : piece) * link.gamma_s_per_byte;
    }
    return q == p ? total : total + 2 * message_s(k) + k * link.gamma_s_per_byte;
}

LinkCost fit(std::span<const Measurement> points) {
    // (alpha + beta * bytes) / seconds = 1, as well as it can be for all points
    double aa = 0.0;
    double ab = 0.0;
    double bb = 0.0;
    double a1 = 0.0;
    double b1 = 0.0;
    bool two = false;
    for (const Measurement& m : points) {
        expects(m.seconds > 0.0, "fit: every time must be above 0");
        two = two || m.bytes != points[0].bytes;
        const double x = 1.0 / m.seconds;
        const double y = static_cast<double>(m.bytes) / m.seconds;
        aa += x * x;
        ab += x * y;
        bb += y * y;
        a1 += x;
        b1 += y;
    }
    expects(two, "fit: two sizes at least");
    const double determinant = aa * bb - ab * ab;
    return {(a1 * bb - b1 * ab) / determinant, (aa * b1 - ab * a1) / determinant};
}

std::optional<std::size_t> crossover_bytes(
    AllReduceAlgorithm a, AllReduceAlgorithm b, int p, LinkCost link
) {
    const double start = predicted_s(b, 0, p, link) - predicted_s(a, 0, p, link);
    const LinkCost bytes_only{0.0, link.beta_s_per_byte * 1e9, link.gamma_s_per_byte * 1e9};
    const std::size_t many = 1UL << 20U;
    const double a_bytes = predicted_s(a, many, p, bytes_only);
    const double b_bytes = predicted_s(b, many, p, bytes_only);
    const bool equal = std::abs(a_bytes - b_bytes) < 1e-6;
    if (b_bytes > a_bytes && !equal) {
        return std::nullopt;
    }
    if (start <= 0.0) {
        return 0;
    }
    if (equal) {
        return std::nullopt;
    }
    const double each = (a_bytes - b_bytes) / static_cast<double>(many) * 1e-9;
    auto bytes = static_cast<std::size_t>(start / each);
    while (predicted_s(b, bytes, p, link) > predicted_s(a, bytes, p, link)) {
        ++bytes;
    }
    return bytes;
}

}  // namespace dist
