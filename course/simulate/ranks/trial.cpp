#include "course/simulate/ranks/trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <mpi.h>

#include "course/algorithms/expected.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::simulation {
namespace {

constexpr int kMostTried = 64;  // ranks: to know the right result takes time with each
constexpr std::uint64_t kSeed = 1;
constexpr std::array kOperations = {
    ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

/// A rank's data. For a sum, and where nothing is combined, that of expected.hpp; otherwise with signs, and of a product
/// the factors are powers of two: whatever the order, it is exact.
std::vector<float> contribution(std::size_t n, int rank, ReduceOp op) {
    std::vector<float> data = seeded_data(n, rank, kSeed);  // 1 to 8
    constexpr std::array<float, 8> kFactors{1, -1, 2, -0.5F, 1, -2, 0.5F, -1};
    constexpr float kMiddle = 4.5F;
    for (float& x : data) {
        if (op == ReduceOp::product) {
            x = kFactors[static_cast<std::size_t>(x) - 1];
        } else if (op != ReduceOp::sum) {
            x -= kMiddle;
        }
    }
    return data;
}

std::vector<float> reduction(std::size_t n, int p, ReduceOp op) {
    std::vector<float> result = contribution(n, 0, op);
    for (int rank = 1; rank < p; ++rank) {
        accumulate(contribution(n, rank, op), result, op);
    }
    if (op == ReduceOp::mean) {
        scale(result, 1 / static_cast<float>(p));
    }
    return result;
}

/// What the collective leaves here: expected.hpp knows it for sums, and where any value is right.
std::vector<float> expected_here(
    const lab::Collective& collective, std::size_t n, ReduceOp op, const Communicator& comm
) {
    std::vector<float> expected(n);
    collective.expect(expected, comm.size(), comm.rank(), kSeed);
    if (op != ReduceOp::sum) {
        const std::vector<float> other = reduction(n, comm.size(), op);
        std::ranges::transform(expected, other, expected.begin(), [](float sum, float x) {
            return std::isnan(sum) ? sum : x;
        });
    }
    return expected;
}

/// A mean may be rounded in its own way: it is right to this part of the largest element.
long count_wrong_means(std::span<const float> data, std::span<const float> expected) {
    constexpr float kAllowed = 1e-4F;
    long wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const bool right = std::isnan(expected[i]) || std::abs(data[i] - expected[i]) <= kAllowed;
        wrong += right ? 0 : 1;
    }
    return wrong;
}

}  // namespace

Wrong try_values(
    const lab::Algorithm& algorithm,
    const lab::Collective& collective,
    const TrialCall& call,
    const Communicator& comm
) {
    if (comm.size() > kMostTried) {
        return {};
    }
    const bool combines = collective.redop == "sum";
    const bool all_operations = combines && algorithm.means == lab::Means::messages;
    const std::size_t n = 4 * static_cast<std::size_t>(comm.size()) + 3;
    for (const ReduceOp op : kOperations) {
        const std::vector<float> in = contribution(n, comm.rank(), op);
        std::vector<float> data = in;
        call(in, data, op);
        const std::vector<float> expected = expected_here(collective, n, op, comm);
        const long mine = op == ReduceOp::mean ? count_wrong_means(data, expected)
                                               : lab::count_wrong(data, expected);
        long all = 0;
        PMPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, comm.handle());
        if (all > 0) {
            return {all, combines ? name(op) : ""};
        }
        if (!all_operations) {
            break;
        }
    }
    return {0, ""};
}

}  // namespace dist::simulation
