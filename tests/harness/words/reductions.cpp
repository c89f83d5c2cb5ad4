#include "tests/harness/words/reductions.hpp"

#include <limits>

#include "tests/harness/words/cost.hpp"

namespace dist::harness {
namespace {

constexpr std::size_t kExplained = 1000;  // a longer input has the mistakes of a short one

/// A mean that is divided after every addition, on its way from rank last + 1 to rank last.
std::vector<float> divided_in_every_step(const Call& call, int last, int p) {
    auto travelling = input(call.n, (last + 1) % p, call.salt, call.values);
    for (int i = 2; i <= p; ++i) {
        const auto own = input(call.n, (last + i) % p, call.salt, call.values);
        accumulate(own, travelling, ReduceOp::sum);
        scale(travelling, 1.0F / static_cast<float>(p));
    }
    return travelling;
}

}  // namespace

std::vector<Suspicion> mean_mistakes(const Call& call, int last, int p) {
    if (call.op != ReduceOp::mean) {
        return {};
    }
    Call sum = call;
    sum.op = ReduceOp::sum;
    return {
        {std::vector<float>(call.n, 0.0F), "1 / p is 0 in whole numbers: divide as float"},
        {reduction(sum, p), "that is the sum: the mean is the sum divided by p"},
        {scaled(reduction(call, p), 1.0F / static_cast<float>(p)),
         "that was divided by p twice: once is right, in one place"},
        {divided_in_every_step(call, last, p),
         "that was divided in every step: the mean divides once, when all of the sum is there"}};
}

std::vector<Suspicion> mean_mistakes_here(const Call& call, const Communicator& comm) {
    return mean_mistakes(call, comm.rank(), comm.size());
}

std::vector<Suspicion> other_operations(const Call& call, int p) {
    if (call.op == ReduceOp::sum || call.op == ReduceOp::mean) {
        return {};
    }
    std::vector<Suspicion> all;
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
        if (op != call.op) {
            Call other = call;
            other.op = op;
            all.push_back(
                {reduction(other, p), std::string("that is the ") + name(op) + ": look at op"}
            );
        }
    }
    return all;
}

std::vector<Suspicion> reduction_mistakes(const Call& call, int p) {
    std::vector<Suspicion> all = mean_mistakes(call, 0, p);
    const std::vector<Suspicion> others = other_operations(call, p);
    if (others.empty()) {
        return all;
    }
    all.insert(all.end(), others.begin(), others.end());
    auto from_zero = reduction(call, p);
    accumulate(std::vector<float>(call.n, 0.0F), from_zero, call.op);
    all.push_back({from_zero, "as if it began at 0: start from a contribution, not from zero"});
    if (call.op == ReduceOp::max) {
        auto from_smallest = reduction(call, p);
        accumulate(
            std::vector<float>(call.n, std::numeric_limits<float>::min()), from_smallest, call.op
        );
        all.push_back(
            {from_smallest,
             "std::numeric_limits<float>::min() is the smallest positive float: start from a "
             "contribution"}
        );
    }
    return all;
}

Comparison reduced(
    const std::vector<float>& data,
    const Call& call,
    const Communicator& comm,
    const Mistakes& mistakes
) {
    const auto expected = reduction(call, comm.size());
    const double allowed = tolerance(call.op, comm.size());
    Comparison plain = same(data, expected, allowed);
    if (plain || call.n > kExplained) {
        return plain;
    }
    return same(data, expected, allowed, mistakes(call, comm));
}

std::vector<float> partial(const Call& call, const std::set<int>& ranks) {
    std::vector<float> total = input(call.n, *ranks.begin(), call.salt, call.values);
    for (auto rank = std::next(ranks.begin()); rank != ranks.end(); ++rank) {
        accumulate(input(call.n, *rank, call.salt, call.values), total, call.op);
    }
    return total;
}

std::set<int> arc(int p, int first, int k) {
    std::set<int> ranks;
    for (int i = 0; i < k; ++i) {
        ranks.insert((first + i) % p);
    }
    return ranks;
}

std::string alone(const std::set<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + list(ranks) + " alone";
}

std::vector<float> scaled(std::vector<float> data, float factor) {
    scale(data, factor);
    return data;
}

}  // namespace dist::harness
