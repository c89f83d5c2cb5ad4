// Inputs, expectations, and comparisons that say what a wrong value is likely to be.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {

std::set<int> Traffic::partners() const {
    std::set<int> both = sent_to;
    both.insert(received_from.begin(), received_from.end());
    return both;
}

std::set<int> neighbours(const Communicator& comm) {
    const int p = comm.size();
    if (p == 1) {
        return {};
    }
    return {(comm.rank() + 1) % p, (comm.rank() + p - 1) % p};
}

std::uint64_t seed() {
    static const std::uint64_t value = [] {
        const char* text = std::getenv(kEnvSeed);
        return text == nullptr ? std::uint64_t{1} : std::strtoull(text, nullptr, 10);
    }();
    return value;
}

std::vector<float> input(std::size_t n, int rank, std::uint64_t salt) {
    return seeded_data(n, rank, seeded_bits(seed(), salt));
}

std::vector<float> reduced_input(std::size_t n, int p, ReduceOp op, std::uint64_t salt) {
    const std::vector<float> first = input(n, 0, salt);
    std::vector<double> result(first.begin(), first.end());
    for (int r = 1; r < p; ++r) {
        const std::vector<float> other = input(n, r, salt);
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

std::vector<float> poison(std::size_t n) {
    return std::vector<float>(n, std::numeric_limits<float>::quiet_NaN());
}

std::ostream& operator<<(std::ostream& out, const Comparison& comparison) {
    return out << (comparison.equal ? "as expected" : comparison.text);
}

Comparison same(
    std::span<const float> got,
    std::span<const float> expected,
    double tolerance,
    const std::vector<Suspicion>& suspicions
) {
    if (got.size() != expected.size()) {
        return {
            false, "expected " + std::to_string(expected.size()) + " elements, got " +
                       std::to_string(got.size())};
    }
    // written so that NaN differs from everything
    const auto equal = [&](double a, double b) {
        return a == b || std::abs(a - b) <= tolerance * std::abs(b);
    };
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = got.size(); i-- > 0;) {
        if (!equal(got[i], expected[i])) {
            ++wrong;
            first = i;
        }
    }
    if (wrong == 0) {
        return {};
    }
    std::ostringstream text;
    text.precision(9);
    text << "index " << first << ": expected " << expected[first] << ", got ";
    if (std::isnan(got[first])) {
        text << "what was there before (NaN): nothing was written";
    } else {
        text << got[first];
    }
    text << " (" << wrong << " of " << got.size() << (wrong == 1 ? " differs)" : " differ)");
    for (const Suspicion& suspicion : suspicions) {
        if (first < suspicion.values.size() && equal(got[first], suspicion.values[first])) {
            text << ": " << suspicion.sentence;
            break;
        }
    }
    return {false, text.str()};
}

}  // namespace dist::harness
