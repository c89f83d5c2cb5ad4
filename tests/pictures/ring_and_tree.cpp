// The pictures of chapter 03.
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"
#include "exercises/03_ring_and_tree/ring_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"
#include "exercises/03_ring_and_tree/summation_order.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"
#include "tests/pictures/draw.hpp"

using namespace dist;
using namespace dist::diagrams;

namespace {

constexpr int kSegments = 3;

Diagram ring(const std::string& name, const std::string& part, int count) {
    const std::string cut = std::to_string(count) + " " + part + "s";
    const std::string legend = part + " 1: 3 is " + part + " 1, which has 3 floats";
    return {name,   name + ": 4 ranks, 10 floats in " + cut,
            4,      parts(part, kFloats, chunk_begins(kFloats, count)),
            legend, true};
}

}  // namespace

TEST_CASE("ring_broadcast") {
    draw(ring("ring_broadcast", "segment", kSegments), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        ring_broadcast(data, 0, kSegments, comm);
    });
}

TEST_CASE("ring_reduce") {
    draw(ring("ring_reduce", "segment", kSegments), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        ring_reduce(data, ReduceOp::max, 0, kSegments, comm);
    });
}

TEST_CASE("ring_reduce_scatter") {
    draw(ring("ring_reduce_scatter", "chunk", 4), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        ring_reduce_scatter(data, ReduceOp::max, comm);
    });
}

TEST_CASE("ring_all_gather") {
    draw(ring("ring_all_gather", "chunk", 4), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        ring_all_gather(data, comm);
    });
}

TEST_CASE("ring_all_reduce") {
    draw(ring("ring_all_reduce", "chunk", 4), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        ring_all_reduce(data, ReduceOp::max, comm);
    });
}

TEST_CASE("tree_broadcast") {
    draw({"tree_broadcast", "tree_broadcast: 8 ranks, 10 floats", 8}, [](const Communicator& comm) {
        auto data = numbered(kFloats);
        tree_broadcast(data, 0, comm);
    });
}

TEST_CASE("tree_reduce") {
    draw({"tree_reduce", "tree_reduce: 8 ranks, 10 floats", 8}, [](const Communicator& comm) {
        auto data = numbered(kFloats);
        tree_reduce(data, ReduceOp::max, 0, comm);
    });
}

TEST_CASE("recursive_doubling") {
    draw(
        {"recursive_doubling", "recursive_doubling: 5 ranks, 10 floats", 5},
        [](const Communicator& comm) {
            auto data = numbered(kFloats);
            recursive_doubling_all_reduce(data, ReduceOp::max, comm);
        }
    );
}

TEST_CASE("halving_doubling") {
    constexpr int kRanks = 8;
    draw(
        {"halving_doubling", "halving_doubling: 8 ranks, 8 floats", kRanks, ranges(kRanks),
         "[4, 8) are elements 4 to 7"},
        [](const Communicator& comm) {
            auto data = numbered(kRanks);
            halving_doubling_all_reduce(data, ReduceOp::max, comm);
        }
    );
}

TEST_CASE("summation_order") {
    draw({"summation_order", "summation_order: 4 ranks, one sum", 4}, [](const Communicator& comm) {
        ordered_sum(numbered(3), comm);
    });
}
