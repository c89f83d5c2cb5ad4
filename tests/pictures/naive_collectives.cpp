// The pictures of chapter 02.
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"
#include "tests/pictures/draw.hpp"

using namespace dist;
using namespace dist::diagrams;

namespace {

constexpr int kRanks = 4;
constexpr std::size_t kBlock = 2;  // of all_to_all

std::vector<float> own_chunk(const Communicator& comm) {
    const Chunk chunk = chunk_bounds(kFloats, comm.size(), comm.rank());
    return numbered(chunk.size(), chunk.begin);
}

Diagram on_four(const std::string& name) {
    return {name, name + ": 4 ranks, 10 floats", kRanks};
}

Diagram in_chunks(const std::string& name) {
    return {
        name, name + ": 4 ranks, 10 floats", kRanks,
        parts("chunk", kFloats, chunk_begins(kFloats, kRanks)),
        "chunk 1: 3 is chunk 1, which has 3 floats"};
}

}  // namespace

TEST_CASE("broadcast") {
    draw(on_four("broadcast"), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        broadcast(data, 0, comm);
    });
}

TEST_CASE("reduce") {
    draw(on_four("reduce"), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        reduce(data, ReduceOp::max, 0, comm);
    });
}

TEST_CASE("all_reduce") {
    draw(on_four("all_reduce"), [](const Communicator& comm) {
        auto data = numbered(kFloats);
        all_reduce(data, ReduceOp::max, comm);
    });
}

TEST_CASE("scatter") {
    draw(in_chunks("scatter"), [](const Communicator& comm) {
        const auto in = numbered(kFloats);
        auto out = room_for(chunk_bounds(kFloats, comm.size(), comm.rank()).size());
        scatter(in, out, 0, comm);
    });
}

TEST_CASE("gather") {
    draw(in_chunks("gather"), [](const Communicator& comm) {
        auto out = room_for(kFloats);
        gather(own_chunk(comm), out, 0, comm);
    });
}

TEST_CASE("all_gather") {
    draw(in_chunks("all_gather"), [](const Communicator& comm) {
        auto out = room_for(kFloats);
        all_gather(own_chunk(comm), out, comm);
    });
}

TEST_CASE("reduce_scatter") {
    draw(in_chunks("reduce_scatter"), [](const Communicator& comm) {
        const auto in = numbered(kFloats);
        auto out = room_for(chunk_bounds(kFloats, comm.size(), comm.rank()).size());
        reduce_scatter(in, out, ReduceOp::max, comm);
    });
}

TEST_CASE("all_to_all") {
    draw(
        {"all_to_all", "all_to_all: 4 ranks, blocks of 2 floats", kRanks, blocks(kBlock, kRanks),
         "a1: 2 is block 1 of rank 0, which has 2 floats; b0 is block 0 of rank 1", true},
        [](const Communicator& comm) {
            const std::size_t n = kRanks * kBlock;
            auto out = room_for(n);
            all_to_all(numbered(n, n * static_cast<std::size_t>(comm.rank())), out, comm);
        }
    );
}

TEST_CASE("barrier") {
    draw({"barrier", "barrier: 5 ranks, through rank 0", 5}, barrier);
}

TEST_CASE("dissemination_barrier") {
    draw(
        {"dissemination_barrier", "dissemination_barrier: 5 ranks, no root", 5, floats(), "", true},
        dissemination_barrier
    );
}
