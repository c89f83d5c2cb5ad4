// tree_reduce: everyone's data combined on the root, one message from each, in log2 p rounds.
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

#include <string>

#include "tests/03_ring_and_tree/tree_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a reduction from messages along a tree."
);

/// Compares `data`, that began as input(n, r, salt): reduced on the root, unchanged elsewhere.
Comparison reduced_to(
    int root,
    const std::vector<float>& data,
    ReduceOp op,
    const Communicator& comm,
    std::uint64_t salt = 0
) {
    if (comm.rank() == root) {
        return reduced(data, op, comm, salt);
    }
    return same(data, input(data.size(), comm.rank(), salt));
}

void check_contributions(int root, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    auto data = digit(7, r);
    // record, for its end: nobody goes on before all have returned
    record(comm, [&] { tree_reduce(data, ReduceOp::sum, root, comm); });
    INFO("p = " << p << ", root " << root);
    if (r == root) {
        CHECK(sum_of(arc(p, 0, p), data, p));
    } else {
        INFO(
            "rank " << r << " is not the root: its data is to be left as it was. A partial result "
                    << "needs memory of its own."
        );
        CHECK(sum_of({r}, data, p));
    }
}

/// How tree_reduce answers to `root`: "std::invalid_argument", or what it did in its place.
std::string answer(int root, const Communicator& comm) {
    auto data = input(7, comm.rank());
    try {
        tree_reduce(data, ReduceOp::sum, root, comm);
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error& error) {
        return std::string("dist::Error: ") + error.what();
    }
    return "it returned as if all were well";
}

}  // namespace

TEST_CASE("tree_reduce takes in every rank once, to rank 0, and leaves the others' data alone") {
    on_ranks({4, 1, 2, 8, 3, 5, 6, 7}, [](const Communicator& comm) {
        check_contributions(0, comm);
    });
}

TEST_CASE("tree_reduce takes in every rank once, to every root") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            check_contributions(root, comm);
        }
    });
}

TEST_CASE("tree_reduce works for every length and every operation") {
    on_ranks({3, 1, 2, 4, 5, 8}, [](const Communicator& comm) {
        const int root = comm.size() - 1;
        for (const std::size_t n : most_lengths(comm.size())) {
            auto data = input(n, comm.rank());
            record(comm, [&] { tree_reduce(data, ReduceOp::sum, root, comm); });
            INFO("sum of n = " << n << " elements, p = " << comm.size() << ", root " << root);
            CHECK(reduced_to(root, data, ReduceOp::sum, comm));
        }
        for (const ReduceOp op :
             {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
            for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
                auto data = input(n, comm.rank());
                record(comm, [&] { tree_reduce(data, op, root, comm); });
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                CHECK(reduced_to(root, data, op, comm));
            }
        }
    });
}

TEST_CASE("tree_reduce sends one message from each rank but the root") {
    on_ranks({4, 1, 2, 8, 3, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const int root : {0, p / 2}) {
            auto data = input(1000, comm.rank());
            const Traffic traffic =
                record(comm, [&] { tree_reduce(data, ReduceOp::sum, root, comm); });
            const bool is_root = comm.rank() == root;
            INFO("root " << root << " of " << p << " ranks; this is rank " << comm.rank());
            CHECK(traffic.messages_sent == (is_root ? 0 : 1));
            CHECK(traffic.bytes_sent == (is_root ? 0 : 4000));
            INFO(
                "with " << p << " ranks there are " << ceil_log(p) << " rounds, and a rank "
                        << "receives at most one message in each"
            );
            CHECK(traffic.messages_received <= ceil_log(p));
        }
    });
}

TEST_CASE("tree_reduce is through after log2 p rounds, rounded up") {
    on_ranks({8, 1, 2, 4, 3, 5, 6, 7}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const int root : {0, p - 1}) {
            auto data = input(1000, comm.rank());
            const Traffic traffic =
                record(comm, [&] { tree_reduce(data, ReduceOp::sum, root, comm); });
            // twice the best: receives that began together count in the order of their waits
            const int most_rounds = 2 * ceil_log(p);
            INFO(
                "p = " << p << ", root " << root
                       << ": the longest chain of messages that wait for each other is "
                       << traffic.rounds << " long; " << ceil_log(p) << " is best, " << most_rounds
                       << " is allowed."
            );
            INFO("In each round half of those that hold a partial result pass it on, all at once.");
            CHECK(traffic.rounds <= most_rounds);
        }
    });
}

TEST_CASE("tree_reduce refuses a root that is not a rank") {
    on_ranks({3, 1, 2, 8}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const std::string what_it_did = answer(root, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two tree_reduces in a row do not mix") {
    on_ranks({2, 3, 4, 5, 8}, [](const Communicator& comm) {
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = input(1000, comm.rank(), 1);
            auto second = input(1000, comm.rank(), 2);
            INFO("to root " << first_root << ", and at once to root " << second_root);
            tree_reduce(first, ReduceOp::sum, first_root, comm);
            tree_reduce(second, ReduceOp::max, second_root, comm);
            CHECK(reduced_to(first_root, first, ReduceOp::sum, comm, 1));
            CHECK(reduced_to(second_root, second, ReduceOp::max, comm, 2));
        }
    });
}

TEST_CASE("tree_reduce stays inside the communicator it is given") {
    on_ranks({4, 5, 8}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = input(7, group->rank());
            tree_reduce(data, ReduceOp::sum, 1, *group);
            CHECK(reduced_to(1, data, ReduceOp::sum, *group));
        }
    });
}
