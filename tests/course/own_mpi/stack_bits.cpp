// Prints what each collective of chapters 01 to 03 gives, bit for bit: one line for each, on rank 0. Built for Open MPI
// and for the small MPI of chapter 04; what the two print is the same.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

#include "course/runtime/environment.hpp"
#include "course/runtime/reduce_op.hpp"
#include "exercises/01_point_to_point/hello_ranks.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/gather.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"
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

namespace {

using namespace dist;
using Floats = std::vector<float>;

// Fractions whose sums depend on the order in which they are added.
Floats input(std::size_t n, int rank) {
    Floats data(n);
    std::uint32_t state = 12345U + 977U * static_cast<std::uint32_t>(rank);
    for (float& x : data) {
        state = state * 1'664'525U + 1'013'904'223U;
        x = static_cast<float>(state >> 8U) / 3.0e6F - 2.0F;
    }
    return data;
}

bool prints = false;  // rank 0 of the world does

// Of the bits of all ranks of `comm`.
void print(const std::string& what, const Floats& data, const Communicator& comm) {
    std::uint32_t sum = 2'166'136'261U;
    for (const float x : data) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        sum = (sum ^ bits) * 16'777'619U;
    }
    const int bits = static_cast<int>(sum);
    std::vector<int> all(static_cast<std::size_t>(comm.size()));
    MPI_CHECK(MPI_Allgather(&bits, 1, MPI_INT, all.data(), 1, MPI_INT, comm.handle()));
    if (prints) {
        std::printf("%s:", what.c_str());
        for (const int one : all) {
            std::printf(" %08x", static_cast<unsigned>(one));
        }
        std::printf("\n");
    }
}

void in_place(const Communicator& comm, std::size_t n) {
    using Call = std::function<void(std::span<float>)>;
    const int last = comm.size() - 1;
    const LinkCost link{1e-5, 1e-9};
    const auto op = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max};
    const auto run = [&](const std::string& what, const Call& call) {
        Floats data = input(n, comm.rank());
        call(data);
        print(what + " of " + std::to_string(n), data, comm);
    };
    for (const ReduceOp o : op) {
        run("all_reduce", [&](auto data) { all_reduce(data, o, comm); });
        run("ring_all_reduce", [&](auto data) { ring_all_reduce(data, o, comm); });
        run("ring_reduce_scatter", [&](auto data) { ring_reduce_scatter(data, o, comm); });
        run("recursive_doubling", [&](auto data) { recursive_doubling_all_reduce(data, o, comm); });
        run("halving_doubling", [&](auto data) { halving_doubling_all_reduce(data, o, comm); });
        run("auto_all_reduce", [&](auto data) { auto_all_reduce(data, o, link, comm); });
        run("reduce", [&](auto data) { reduce(data, o, last, comm); });
        run("ring_reduce", [&](auto data) { ring_reduce(data, o, last, 3, comm); });
        run("tree_reduce", [&](auto data) { tree_reduce(data, o, last, comm); });
    }
    run("broadcast", [&](auto data) { broadcast(data, last, comm); });
    run("ring_broadcast", [&](auto data) { ring_broadcast(data, last, 3, comm); });
    run("tree_broadcast", [&](auto data) { tree_broadcast(data, last, comm); });
    run("ring_all_gather", [&](auto data) { ring_all_gather(data, comm); });
    run("ordered_sum", [&](auto data) { data[0] = ordered_sum(data, comm); });
    run("send and isend", [&](auto data) {
        const int next = (comm.rank() + 1) % comm.size();
        const int prev = (comm.rank() + last) % comm.size();
        Floats in(data.size());
        std::vector<Request> requests;
        requests.push_back(irecv(in, prev, comm, 4));
        requests.push_back(isend(data, next, comm, 4));
        wait_all(requests);
        ring_shift(in, data, comm);
        if (comm.rank() == 0 && last > 0) {
            send(data, last, comm, 9);
        } else if (comm.rank() == last && last > 0) {
            recv(data, 0, comm, 9);
        }
    });
}

void in_and_out(const Communicator& comm, std::size_t chunk) {
    const auto p = static_cast<std::size_t>(comm.size());
    const int root = comm.size() / 2;
    const Floats one = input(chunk, comm.rank());
    const Floats all = input(chunk * p, comm.rank());
    Floats out(chunk * p);
    Floats part(chunk);
    const std::string of = " of " + std::to_string(chunk);
    all_gather(one, out, comm);
    print("all_gather" + of, out, comm);
    all_to_all(all, out, comm);
    print("all_to_all" + of, out, comm);
    reduce_scatter(all, part, ReduceOp::sum, comm);
    print("reduce_scatter" + of, part, comm);
    const bool is_root = comm.rank() == root;
    scatter(is_root ? std::span<const float>(all) : std::span<const float>(), part, root, comm);
    print("scatter" + of, part, comm);
    gather(one, is_root ? std::span<float>(out) : std::span<float>(), root, comm);
    print("gather" + of, out, comm);
}

int run(const Communicator& world) {
    prints = world.rank() == 0;
    const std::string hello = hello_ranks(world);
    if (prints) {
        std::printf("%s\n", hello.c_str());
    }
    const Communicator odd_and_even = world.split(world.rank() % 2, -world.rank());
    const Communicator again = odd_and_even.dup();
    for (const Communicator* comm : {&world, &odd_and_even, &again}) {
        barrier(*comm);
        dissemination_barrier(*comm);
        for (const std::size_t n : {1, 7, 1000, 300'001}) {
            in_place(*comm, n);
            in_and_out(*comm, n);
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, run);
}
