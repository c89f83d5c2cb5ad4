// halving_doubling_all_reduce: the right result everywhere, with a ring's bytes in 2 log2 p rounds.
#include "exercises/03_ring_and_tree/halving_doubling.hpp"

#include <string>

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"},
    "This exercise builds an all-reduce from messages: exchange halves with rank r ^ d."
);

/// Steps of the halving and of the doubling, and the two that bring in the ranks beyond q.
int best_rounds(int p) {
    return 2 * floor_log(p) + (p == floor_power(p) ? 0 : 2);
}

void check_contributions(const Communicator& comm) {
    const int p = comm.size();
    for (const std::size_t n : {16U, 7U}) {
        auto data = digit(n, comm.rank());
        halving_doubling_all_reduce(data, ReduceOp::sum, comm);
        INFO("n = " << n << ", p = " << p << ", q = " << floor_power(p));
        INFO("Each step halves the part of data that a rank works on, and doubles those in it.");
        CHECK(sum_of(arc(p, 0, p), data, p));
    }
}

}  // namespace

TEST_CASE("halving_doubling takes in every rank once, p a power of two") {
    on_ranks({4, 2, 1, 8}, check_contributions);
}

TEST_CASE("halving_doubling takes in every rank once, p no power of two") {
    on_ranks({3, 5, 6, 7}, check_contributions);
}

TEST_CASE("halving_doubling works for every length and every operation") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        for (const std::size_t n : most_lengths(comm.size())) {
            auto data = input(n, comm.rank());
            halving_doubling_all_reduce(data, ReduceOp::sum, comm);
            INFO("sum of n = " << n << " elements, p = " << comm.size());
            INFO("Is what comes in added to the elements it belongs to: the half that is kept?");
            CHECK(reduced(data, ReduceOp::sum, comm));
        }
        for (const ReduceOp op :
             {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
            for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
                auto data = input(n, comm.rank());
                halving_doubling_all_reduce(data, op, comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                CHECK(reduced(data, op, comm));
            }
        }
    });
}

TEST_CASE("halving_doubling exchanges parts with rank r ^ d, once on each of its two ways") {
    on_ranks({4, 1, 2, 8}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        auto data = input(1000, r);
        const Traffic traffic =
            record(comm, [&] { halving_doubling_all_reduce(data, ReduceOp::sum, comm); });
        const std::set<int> partners = doubling_partners(r, p);
        INFO(
            "rank " << r << " of " << p << " exchanged messages with " << list(traffic.partners())
                    << "; r ^ d is " << list(partners)
        );
        CHECK(traffic.partners() == partners);
        CHECK(traffic.messages_sent <= 2L * floor_log(p));
    });
}

TEST_CASE("halving_doubling sends parts that are half as long in each step, and a ring's bytes") {
    on_ranks({4, 1, 2, 8, 3, 5, 6, 7}, [](const Communicator& comm) {
        const int p = comm.size();
        const int power = floor_power(p);
        for (const std::size_t n : {1000U, 7U}) {
            auto data = input(n, comm.rank());
            const Traffic traffic =
                record(comm, [&] { halving_doubling_all_reduce(data, ReduceOp::sum, comm); });
            const long folded = p == power ? 0 : 1;
            const long most_messages = 2L * floor_log(p) + folded;
            const long floats = 2L * (power - 1) * ceil_div(n, power);
            const long most_bytes = 4 * (floats + folded * static_cast<long>(n));
            INFO(
                "n = " << n << ", p = " << p << ": rank " << comm.rank() << " sent "
                       << traffic.messages_sent << " messages with " << traffic.bytes_sent
                       << " bytes in all."
            );
            INFO(
                "A half, a quarter, and so on, there and back: "
                << most_messages << " messages with at most " << most_bytes << " bytes."
            );
            CHECK(traffic.messages_sent <= most_messages);
            CHECK(traffic.bytes_sent <= most_bytes);
        }
    });
}

TEST_CASE("halving_doubling is through after 2 log2 p rounds") {
    on_ranks({8, 1, 2, 4, 3, 5, 6, 7}, [](const Communicator& comm) {
        const int best = best_rounds(comm.size());
        auto data = input(1000, comm.rank());
        const Traffic traffic =
            record(comm, [&] { halving_doubling_all_reduce(data, ReduceOp::sum, comm); });
        // twice the best: an order in which a rank first sends, then receives, is right as well
        INFO(
            "p = " << comm.size() << ": the longest chain of messages that wait for each other is "
                   << traffic.rounds << " long; " << best << " is best, " << 2 * best
                   << " is allowed."
        );
        INFO("All pairs of a step exchange at the same time: does one wait for another?");
        CHECK(traffic.rounds <= 2 * best);
    });
}

TEST_CASE("halving_doubling leaves the same bits on every rank") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
            auto data = order_matters(7, comm.rank());
            halving_doubling_all_reduce(data, op, comm);
            const Comparison bits = same_on_all_ranks(data, comm);
            INFO(name(op) << " of 7 elements, p = " << comm.size());
            INFO("Each part of the sum is finished on one rank, and all others copy its bits.");
            INFO("Ranks that add in different orders round differently, and replicas drift apart.");
            CHECK(bits);
        }
    });
}

TEST_CASE("halving_doubling can be called twice in a row") {
    on_ranks({2, 3, 4, 5, 8}, [](const Communicator& comm) {
        auto first = input(1000, comm.rank(), 1);
        auto second = input(1000, comm.rank(), 2);
        halving_doubling_all_reduce(first, ReduceOp::sum, comm);
        halving_doubling_all_reduce(second, ReduceOp::max, comm);
        CHECK(reduced(first, ReduceOp::sum, comm, 1));
        CHECK(reduced(second, ReduceOp::max, comm, 2));
    });
}

TEST_CASE("halving_doubling stays inside the communicator it is given") {
    on_ranks({4, 5, 8}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = input(7, group->rank());
            halving_doubling_all_reduce(data, ReduceOp::sum, *group);
            CHECK(reduced(data, ReduceOp::sum, *group));
        }
    });
}
