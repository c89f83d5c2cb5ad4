// reduce: everyone's data combined on the root, one message from each of the others to it.
#include "exercises/02_naive_collectives/reduce.hpp"

#include <string>
#include <unistd.h>

#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/reduction_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "reduce is to be built from send and recv");

/// What the ranks but `left_out` give together.
std::vector<float> reduced_without(
    int left_out, std::size_t n, ReduceOp op, int p, std::uint64_t salt
) {
    std::vector<float> result;
    for (int r = 0; r < p; ++r) {
        if (r == left_out) {
            continue;
        }
        if (result.empty()) {
            result = input(n, r, salt);
        } else {
            accumulate(input(n, r, salt), result, op);
        }
    }
    return op == ReduceOp::mean ? scaled(result, 1.0F / static_cast<float>(p)) : result;
}

/// The mean, divided by p after each contribution.
std::vector<float> divided_each_time(int root, std::size_t n, int p, std::uint64_t salt) {
    std::vector<float> result = input(n, root, salt);
    for (int r = 0; r < p; ++r) {
        if (r != root) {
            accumulate(input(n, r, salt), result, ReduceOp::sum);
            scale(result, 1.0F / static_cast<float>(p));
        }
    }
    return result;
}

/// Whether the root holds the reduction, and every other rank what it came with.
Comparison is_reduced(
    const std::vector<float>& data,
    ReduceOp op,
    int root,
    const Communicator& comm,
    std::uint64_t salt = 0
) {
    const std::size_t n = data.size();
    const int p = comm.size();
    const auto own = input(n, comm.rank(), salt);
    const auto reduction = reduced_input(n, p, op, salt);
    if (comm.rank() != root) {
        return same(
            data, own, 0,
            {{reduction, "that is the result, and only the root gets it"},
             {input(n, root, salt), "that is the root's contribution: data goes to the root"},
             {scaled(own, 1.0F / static_cast<float>(p)), "that is data divided by p"}}
        );
    }
    if (same(data, reduction, tolerance(op))) {
        return {};
    }
    std::vector<Suspicion> suspicions = reduction_mistakes(n, op, p, salt);
    const auto last = input(n, root == p - 1 ? p - 2 : p - 1, salt);
    auto doubled = last;
    const char* overwritten = "the root received over its own data, which is lost: use a buffer";
    suspicions.push_back({last, overwritten});
    accumulate(last, doubled, op);
    suspicions.push_back({doubled, overwritten});
    if (op == ReduceOp::mean) {
        suspicions.push_back(
            {divided_each_time(root, n, p, salt), "that was divided by p after each contribution"}
        );
    }
    suspicions.push_back({own, "that is the root's own contribution: nothing was added to it"});
    suspicions.push_back(
        {reduced_without(root, n, op, p, salt), "the root's own contribution is missing"}
    );
    return same(data, reduction, tolerance(op), suspicions);
}

}  // namespace

TEST_CASE("reduce gives the root the reduction over all ranks, and leaves the others' data alone") {
    const auto op =
        GENERATE(ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max);
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            for (const std::size_t n : op == ReduceOp::sum ? lengths(comm) : std::vector{7UL}) {
                INFO(
                    name(op) << " of " << n << " floats over " << comm.size() << " ranks, to root "
                             << root
                );
                auto data = input(n, comm.rank());
                // record, for its end: nobody goes on to the next before all have returned
                record(comm, [&] { reduce(data, op, root, comm); });
                CHECK(is_reduced(data, op, root, comm));
            }
        }
    });
}

TEST_CASE("two reduces in a row do not mix, when one rank is late") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const int late = comm.size() - 1;
        for (int repetition = 0; repetition < 4; ++repetition) {
            auto first = input(100, comm.rank(), 1);
            auto second = input(100, comm.rank(), 2);
            record(comm, [&] {
                if (comm.rank() == late) {
                    usleep(3000);
                }
                reduce(first, ReduceOp::sum, 0, comm);
                reduce(second, ReduceOp::sum, 0, comm);
            });
            INFO(
                "rank " << late << " came late; the others had entered the second reduce, whose "
                        << "messages are not for the first: which rank's message is received?"
            );
            CHECK(is_reduced(first, ReduceOp::sum, 0, comm, 1));
            CHECK(is_reduced(second, ReduceOp::sum, 0, comm, 2));
        }
    });
}

TEST_CASE("reduce costs one message from each rank, all of them to the root") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        const long others = comm.size() - 1;
        for (int root = 0; root < comm.size(); ++root) {
            auto data = input(n, comm.rank());
            const Traffic traffic = record(comm, [&] { reduce(data, ReduceOp::sum, root, comm); });
            INFO(
                "root " << root << " of " << comm.size() << " ranks: each sends once, to the root"
            );
            INFO("only the root receives; a rank that adds on the way is another algorithm");
            if (comm.rank() == root) {
                CHECK(traffic.messages_received == others);
                CHECK(traffic.messages_sent == 0);
                CHECK(traffic.rounds == others);
            } else {
                CHECK(traffic.messages_received == 0);
                CHECK(traffic.messages_sent == 1);
                CHECK(traffic.bytes_sent == 4 * static_cast<long>(n));
                CHECK(traffic.sent_to == std::set{root});
            }
        }
    });
}

TEST_CASE("reduce refuses a root that is not a rank") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            auto data = input(7, comm.rank());
            const std::string what_it_did =
                answer([&] { reduce(data, ReduceOp::sum, root, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("reduce reduces over the ranks of the communicator that was given, and no others") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            const int root = group.size() - 1;
            auto data = input(7, group.rank());
            reduce(data, ReduceOp::mean, root, group);
            CHECK(is_reduced(data, ReduceOp::mean, root, group));
        });
    });
}

TEST_CASE("reduce is right for a large message") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        auto data = input(300'000, comm.rank());
        reduce(data, ReduceOp::sum, 1, comm);
        CHECK(is_reduced(data, ReduceOp::sum, 1, comm));
    });
}
