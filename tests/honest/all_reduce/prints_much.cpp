// Tells what it does, with streams, objects at file scope and a clock.
// state: pass

#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace {

const std::map<dist::ReduceOp, std::string> kNames = {
    {dist::ReduceOp::sum, "sum"}, {dist::ReduceOp::mean, "mean"}, {dist::ReduceOp::max, "max"}};

}  // namespace

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const auto begin = std::chrono::steady_clock::now();
    reduce(data, op, 0, comm);
    broadcast(data, 0, comm);
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    std::ostringstream line;
    const auto name = kNames.find(op);
    line << "rank " << comm.rank() << " of " << comm.size() << ": "
         << (name == kNames.end() ? "?" : name->second) << " of " << data.size() << " floats in "
         << std::setprecision(3) << gone.count() << " s";
    std::cout << line.str() << std::endl;
    std::cerr << line.str() << '\n';
}

}  // namespace dist
