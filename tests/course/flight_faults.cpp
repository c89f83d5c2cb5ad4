// Ranks that call collectives, step by step; one of them does something else once.
//
// usage: flight_faults FAULT RANK STEP    started by launch, to which this program's rank 0 reports failure in the end
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "course/parallel/flight.hpp"
#include "course/runtime/environment.hpp"
#include "course/trainer/timeout.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace {

using dist::FlightCall;
using dist::ReduceOp;
using dist::trainer::Noted;

constexpr int kSteps = 6;
constexpr std::int64_t kElements = 100;

/// The fault that this rank has in this step; empty: none.
using Fault = std::string;

void die_or_wait(const Fault& fault) {
    constexpr std::chrono::milliseconds kSlow(1500);
    if (fault == "killed") {
        raise(SIGKILL);
    } else if (fault == "stopped") {
        raise(SIGSTOP);
    } else if (fault == "exits") {
        _exit(3);
    } else if (fault == "throws") {
        throw std::runtime_error("a fault was asked for");
    } else if (fault == "slow") {
        std::this_thread::sleep_for(kSlow);
    } else if (fault == "computes") {
        for (;;) {
            std::this_thread::sleep_for(kSlow);
        }
    }
}

void reduce(const Fault& fault, const dist::Communicator& comm) {
    const bool is_maximum = fault == "op";
    const std::int64_t n = fault == "size" ? kElements - 40 : kElements;
    std::vector<float> row(static_cast<std::size_t>(n), 1.0F);
    const FlightCall call = {
        .name = "all_reduce",
        .count = n,
        .type = fault == "type" ? "bfloat16" : "float32",
        .op = is_maximum ? "max" : "sum"};
    const Noted noted(comm, call);  // the line of all_reduce
    dist::ring_all_reduce(row, is_maximum ? ReduceOp::max : ReduceOp::sum, comm);
}

void gather(const dist::Communicator& comm) {
    std::vector<float> row(kElements);
    const FlightCall call = {.name = "all_gather", .count = kElements};
    const Noted noted(comm, call);  // the line of all_gather
    dist::ring_all_gather(row, comm);
}

void broadcast(int root, const dist::Communicator& comm) {
    std::array<float, 10> row{};
    const FlightCall call = {.name = "broadcast", .count = 10, .root = root};
    const Noted noted(comm, call);  // the line of broadcast
    dist::tree_broadcast(row, root, comm);
}

void step(const Fault& fault, const dist::Communicator& comm) {
    if (fault != "skips") {
        broadcast(fault == "root" ? 1 : 0, comm);
    }
    die_or_wait(fault);
    if (fault == "collective") {
        gather(comm);
    } else {
        reduce(fault, comm);
    }
    gather(comm);
}

void run(const std::string& fault, int rank, int at, const dist::Communicator& comm) {
    constexpr double kLimitS = 3;
    dist::trainer::Flight flight(dist::trainer::Flight::file_in("", comm.rank()), comm);
    const dist::trainer::Timeout timeout(kLimitS, comm);
    for (int s = 1; s <= kSteps; ++s) {
        step(rank == comm.rank() && s == at ? fault : "", comm);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: flight_faults FAULT RANK STEP\n", stderr);
        return 2;
    }
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        run(argv[1], std::stoi(argv[2]), std::stoi(argv[3]), comm);
        return comm.rank() == 0 ? 9 : 0;  // launch tells of records where somebody fails
    });
}
