#include "course/lab/over_tcp.hpp"

#include <algorithm>
#include <dlfcn.h>

#include <mpi.h>

#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

using Serve = int (*)();
using Meet = const char* (*)(int port, int rank, int size);
using AllReduce = const char* (*)(float* data, std::size_t n, int op);

AllReduce all_reduce_over_tcp = nullptr;

void run_over_tcp(const Call& call) {
    const char* const error =
        all_reduce_over_tcp(call.data.data(), call.data.size(), static_cast<int>(call.op));
    if (error != nullptr) {
        throw Error(error);
    }
}

/// Connects all ranks. Returns why it cannot.
std::string connect(const std::string& library, const Communicator& comm) {
    // RTLD_DEEPBIND: its MPI_Send is its own. It stays loaded to the end.
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr) {
        return dlerror();
    }
    const auto serve = reinterpret_cast<Serve>(dlsym(handle, "over_tcp_serve"));
    const auto meet = reinterpret_cast<Meet>(dlsym(handle, "over_tcp_meet"));
    all_reduce_over_tcp = reinterpret_cast<AllReduce>(dlsym(handle, "over_tcp_all_reduce"));
    int port = comm.rank() == 0 ? serve() : 0;
    MPI_CHECK(MPI_Bcast(&port, 1, MPI_INT, 0, comm.handle()));
    const char* const error = meet(port, comm.rank(), comm.size());
    return error == nullptr ? "" : error;
}

}  // namespace

std::string load_over_tcp(
    std::vector<Algorithm>& algorithms,
    const std::string& library,
    int nodes,
    const Communicator& comm
) {
    const auto row = std::ranges::find(algorithms, "tcp", &Algorithm::name);
    if (row == algorithms.end()) {
        return "";
    }
    std::string reason;
    if (library.empty()) {
        reason = "--transport tcp has it built";
    } else if (nodes > 1) {
        reason = "the ranks are on several machines";
    } else {
        reason = connect(library, comm);
    }
    if (reason.empty()) {
        row->run = run_over_tcp;
        return "";
    }
    algorithms.erase(row);
    return "tcp is left out: " + reason;
}

}  // namespace dist::lab
