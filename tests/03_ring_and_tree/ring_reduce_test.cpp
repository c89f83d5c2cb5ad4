// ring_reduce: everyone's data combined on the root, in segments that follow each other.
#include "exercises/03_ring_and_tree/ring_reduce.hpp"

#include <string>

#include "tests/03_ring_and_tree/ring_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise builds a reduction from messages between neighbours."
);

const auto kOtherOps = {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

/// What the likely mistakes leave on the root.
std::vector<Suspicion> on_the_root(
    std::size_t n, ReduceOp op, int root, int p, std::uint64_t salt
) {
    std::vector<Suspicion> known = mean_suspicions(n, root, p, op, salt);
    known.push_back(
        {input(n, root, salt), "that is the root's own contribution: nothing was added to it"}
    );
    if (op == ReduceOp::sum) {
        auto twice = reduced_input(n, p, op, salt);
        dist::accumulate(input(n, root, salt), twice, op);
        known.push_back({twice, "the root's own contribution is in it twice"});
    }
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            known.push_back(
                {partial(n, ranks, op, salt), "that is what " + alone(ranks) + " would give, " +
                                                  std::to_string(k) + " of " + std::to_string(p) +
                                                  " contributions"}
            );
        }
    }
    return known;
}

/// What the likely mistakes leave on rank r, whose data is to be left as it was.
std::vector<Suspicion> elsewhere(
    std::size_t n, ReduceOp op, int root, int r, int p, std::uint64_t salt
) {
    std::vector<Suspicion> known;
    const int distance = (r - root + p) % p;
    for (int k = 1; k <= distance; ++k) {
        known.push_back(
            {partial(n, arc(p, root + 1, k), op, salt),
             "that is the partial result that passes here: it needs memory of its own, data is to "
             "be left as it was on all ranks but the root"}
        );
    }
    return known;
}

/// Compares `data`, that began as input(n, r, salt): reduced on the root, unchanged elsewhere.
Comparison reduced_to(
    int root,
    const std::vector<float>& data,
    ReduceOp op,
    const Communicator& comm,
    std::uint64_t salt = 0
) {
    const std::size_t n = data.size();
    const int p = comm.size();
    const int r = comm.rank();
    const bool is_root = r == root;
    const auto expected = is_root ? reduced_input(n, p, op, salt) : input(n, r, salt);
    const double close = is_root ? tolerance(op) : 0.0;
    Comparison plain = same(data, expected, close);
    if (plain || n > 1000) {
        return plain;
    }
    const auto known =
        is_root ? on_the_root(n, op, root, p, salt) : elsewhere(n, op, root, r, p, salt);
    return same(data, expected, close, known);
}

/// More than one segment fails, one does not: the sentence for that.
std::string if_one_is_right(int segments) {
    return segments == 1
               ? ""
               : "; with segments = 1 it was right: is what leaves overwritten by what comes in?";
}

/// How ring_reduce answers: "std::invalid_argument", or what it did in its place.
std::string answer(int root, int segments, const Communicator& comm) {
    auto data = input(7, comm.rank());
    try {
        ring_reduce(data, ReduceOp::sum, root, segments, comm);
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error& error) {
        return std::string("dist::Error: ") + error.what();
    }
    return "it returned as if all were well";
}

}  // namespace

TEST_CASE("ring_reduce leaves the sum on the root, and the data of all others as it was") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            for (const int segments : {1, 3, 2, 7}) {
                INFO(
                    "7 floats, segments = " << segments << ", root = " << root
                                            << if_one_is_right(segments)
                );
                auto data = input(7, comm.rank());
                // record, for its end: nobody goes on before all have returned
                record(comm, [&] { ring_reduce(data, ReduceOp::sum, root, segments, comm); });
                CHECK(reduced_to(root, data, ReduceOp::sum, comm));
            }
        }
    });
}

TEST_CASE("ring_reduce works for every length and any number of segments") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int root = comm.size() / 2;
        for (const std::size_t n : every_length(comm.size())) {
            for (const int segments : {1, 2, 3, 5, 16}) {
                INFO(n << " floats, segments = " << segments << ", root = " << root);
                auto data = input(n, comm.rank());
                ring_reduce(data, ReduceOp::sum, root, segments, comm);
                CHECK(reduced_to(root, data, ReduceOp::sum, comm));
            }
        }
    });
}

TEST_CASE("ring_reduce combines by mean, product, min and max as well") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const ReduceOp op : kOtherOps) {
            for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
                INFO(name(op) << " of " << n << " floats in 3 segments, p = " << comm.size());
                auto data = input(n, comm.rank());
                ring_reduce(data, op, 0, 3, comm);
                CHECK(reduced_to(0, data, op, comm));
            }
        }
    });
}

TEST_CASE("ring_reduce sends each segment once over each link, and none from the root") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        const int root = p - 1;
        for (const int segments : {4, 1, 16}) {
            auto data = input(1000, r);
            const Traffic traffic =
                record(comm, [&] { ring_reduce(data, ReduceOp::sum, root, segments, comm); });
            const bool sends = r != root;
            const bool receives = p > 1 && r != (root + 1) % p;
            INFO(
                "1000 floats in " << segments << " segments, root " << root << " of " << p
                                  << " ranks: rank " << r << (sends ? " sends" : " does not send")
                                  << " to the next rank, one message for each segment"
            );
            CHECK(traffic.sent_to == (sends ? std::set{(r + 1) % p} : std::set<int>{}));
            CHECK(
                traffic.received_from == (receives ? std::set{(r - 1 + p) % p} : std::set<int>{})
            );
            CHECK(traffic.messages_sent == (sends ? segments : 0));
            CHECK(traffic.bytes_sent == (sends ? 4000 : 0));
        }
    });
}

TEST_CASE("ring_reduce passes a segment on while the next one comes in") {
    on_ranks({5, 2, 3, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const int segments = 16;
        auto data = input(1000, comm.rank());
        const Traffic traffic =
            record(comm, [&] { ring_reduce(data, ReduceOp::sum, 0, segments, comm); });
        // twice the best: a rank that receives, then sends, then receives, is right as well
        const int best = p - 2 + segments;
        INFO(
            "The longest chain of messages that wait for each other is "
            << traffic.rounds << " long; " << best << " is best, " << 2 * best << " is allowed."
        );
        INFO("Does a rank wait for all the data before it passes on the first segment?");
        CHECK(traffic.rounds <= 2 * best);
    });
}

TEST_CASE("ring_reduce refuses a root that is not a rank, and segments below 1") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const std::string what_it_did = answer(root, 2, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
        for (const int segments : {0, -1}) {
            INFO(segments << " segments: every rank must refuse that");
            const std::string what_it_did = answer(0, segments, comm);
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two ring_reduces in a row do not mix") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = input(1000, comm.rank(), 1);
            auto second = input(1000, comm.rank(), 2);
            INFO("to root " << first_root << ", and at once to root " << second_root);
            ring_reduce(first, ReduceOp::sum, first_root, 4, comm);
            ring_reduce(second, ReduceOp::max, second_root, 3, comm);
            CHECK(reduced_to(first_root, first, ReduceOp::sum, comm, 1));
            CHECK(reduced_to(second_root, second, ReduceOp::max, comm, 2));
        }
    });
}

TEST_CASE("ring_reduce stays inside the communicator it is given") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto data = input(7, group->rank());
            ring_reduce(data, ReduceOp::sum, 0, 3, *group);
            CHECK(reduced_to(0, data, ReduceOp::sum, *group));
        }
    });
}
