#include "tests/harness/words/inputs.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "course/runtime/seeded.hpp"
#include "tests/harness/job/secret.hpp"

namespace dist::harness {
namespace {

/// Every test asks for the same numbers again, and a short answer is the beginning of a long one: the longest is kept.
template <class... Key>
class Kept {
  public:
    template <class Make>
    std::vector<float> first(std::size_t n, const Make& make, Key... key) {
        const std::scoped_lock guard(one_at_a_time_);
        std::vector<float>& longest = made_[{key...}];
        if (longest.size() < n) {
            longest = make();
        }
        return {longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(n)};
    }

  private:
    std::map<std::tuple<Key...>, std::vector<float>> made_;
    std::mutex one_at_a_time_;
};

/// From a whole number from 1 to 8, and a bit.
float value_of(float number, bool bit, Values values) {
    constexpr float kLarge = 1e20F;
    // No 5, no 7, and at most one factor 3: a product of 15 has at most 3^15 before its power of two,
    // and a float has 24 bits for that.
    constexpr std::array<float, 8> kMixed{1, 2, 3, 4, 3, 6, 6, 8};
    switch (values) {
        case Values::positive:
            return number * kLarge;
        case Values::negative:
            return -number * kLarge;
        default:
            const float small = kMixed[static_cast<std::size_t>(number) - 1];
            return bit ? -small : small;
    }
}

std::vector<float> made_input(std::size_t n, int rank, std::uint64_t salt, Values values) {
    const std::uint64_t stream = seeded_bits(seed(), salt);
    std::vector<float> data = seeded_data(n, rank, stream);
    const std::uint64_t signs = seeded_bits(~stream, static_cast<std::uint64_t>(rank));
    for (std::size_t i = 0; i < n; ++i) {
        data[i] = value_of(data[i], (seeded_bits(signs, i) >> 32U) % 2 == 1, values);
    }
    return data;
}

/// In doubles, so that sums are exact, and rounded once.
std::vector<float> made_reduction(
    std::size_t n, int p, ReduceOp op, std::uint64_t salt, Values values
) {
    const std::vector<float> first = input(n, 0, salt, values);
    std::vector<double> result(first.begin(), first.end());
    for (int r = 1; r < p; ++r) {
        const std::vector<float> other = input(n, r, salt, values);
        for (std::size_t i = 0; i < n; ++i) {
            const double x = other[i];
            switch (op) {
                case ReduceOp::sum:
                case ReduceOp::mean:
                    result[i] += x;
                    break;
                case ReduceOp::product:
                    result[i] *= x;
                    break;
                case ReduceOp::min:
                    result[i] = std::min(result[i], x);
                    break;
                case ReduceOp::max:
                    result[i] = std::max(result[i], x);
                    break;
            }
        }
    }
    std::vector<float> rounded(n);
    std::transform(result.begin(), result.end(), rounded.begin(), [&](double x) {
        return static_cast<float>(op == ReduceOp::mean ? x / p : x);
    });
    return rounded;
}

}  // namespace

std::uint64_t seed() {
    return secret().drawn() ? secret().shown_seed() : 1;
}

std::vector<float> input(std::size_t n, int rank, std::uint64_t salt, Values values) {
    static Kept<int, std::uint64_t, Values> kept;
    return kept.first(
        n, [&] { return made_input(n, rank, salt, values); }, rank, salt, values
    );
}

std::vector<float> order_matters(std::size_t n, int rank, int p) {
    const auto r = static_cast<std::size_t>(rank);
    const auto ranks = static_cast<std::size_t>(p);
    const std::uint64_t stream = seeded_bits(seed(), r);
    std::vector<float> data(n, 1.0F);
    for (std::size_t i = 0; i < n; ++i) {
        if (i % ranks == r) {
            data[i] = 0x1p24F;
        } else if (i >= ranks) {
            data[i] += static_cast<float>(seeded_bits(stream, i) >> 40U) * 0x1p-24F;
        }
    }
    return data;
}

std::vector<float> reduced_input(
    std::size_t n, int p, ReduceOp op, std::uint64_t salt, Values values
) {
    static Kept<int, ReduceOp, std::uint64_t, Values> kept;
    return kept.first(
        n, [&] { return made_reduction(n, p, op, salt, values); }, p, op, salt, values
    );
}

std::vector<float> poison(std::size_t n) {
    return std::vector<float>(n, std::numeric_limits<float>::quiet_NaN());
}

double tolerance(ReduceOp op, int p) {
    return op == ReduceOp::mean ? 8.0 * (p + 1) / (1 << 24) : 0.0;
}

}  // namespace dist::harness
